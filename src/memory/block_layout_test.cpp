// True block sizes: a rest of up to 1 MiB goes with the block, and only the recorded addresses tell which block it was.
#include "memory/block_layout.h"

#include <gtest/gtest.h>

#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

struct Followed {
  explicit Followed(MemorySnapshot drawn) : snapshot(std::move(drawn)) {
    const BlockRounding rounding(snapshot.settings);
    const Pairing pairing = pair_allocations(snapshot, SnapshotDeviceId(0), rounding, rows);
    result = follow_block_layout(snapshot, SnapshotDeviceId(0), pairing, rounding, rows);
  }
  // In units of 1 KiB.
  [[nodiscard]] std::vector<std::int64_t> sizes_kib() const {
    std::vector<std::int64_t> sizes;
    for (const std::int64_t size : rows.size_bytes.raw()) sizes.push_back(size / 1024);
    return sizes;
  }
  MemorySnapshot snapshot;
  Allocations rows;
  BlockLayoutResult result;
};

TEST(BlockLayout, ARestOfOneMegabyteGoesWithTheBlock) {
  const Followed followed(drawn_snapshot(R"(
    segment A 20M
    alloc a A 19M
    free a
    alloc b A 19455K
    free b
    alloc c A 18M
    free c
  )"));
  // 20 - 19 = 1 MiB is not split off; 20 MiB - 19455 KiB is 1 KiB more, and is.
  EXPECT_EQ(followed.sizes_kib(), (std::vector<std::int64_t>{20480, 19455, 18432}));
  EXPECT_EQ(followed.result.estimated_count, 0);
}

TEST(BlockLayout, FreedNeighboursMergeBeforeTheyAreGivenOut) {
  const Followed followed(drawn_snapshot(R"(
    segment A 20M
    alloc a A 6M
    alloc b A+6M 6M
    alloc c A+12M 8M
    free a
    free b
    alloc d A 11M block=12M
    free c
    free d
    alloc e A 20M
  )"));
  EXPECT_EQ(followed.sizes_kib(), (std::vector<std::int64_t>{6144, 6144, 8192, 12288, 20480}));
}

TEST(BlockLayout, SizesOfTheSegmentsCheckTheLayout) {
  const Followed followed(drawn_snapshot(R"(
    segment A 20M
    alloc a A 6M
    alloc b A+6M 6M
    alloc c A+12M 7340033 block=8M
    free b
    alloc d A+6M 5243000 block=6M
  )"));
  EXPECT_EQ(followed.result.checked_count, 3);
  EXPECT_EQ(followed.result.matched_count, 3);
}

TEST(BlockLayout, SmallRequestsSplitOffEveryRest) {
  const Followed followed(drawn_snapshot(R"(
    segment A 2M
    alloc a A 1048000
    alloc b A+1048064 1048576
    free a
    free b
  )"));
  EXPECT_EQ(followed.rows.size_bytes.raw(), (std::vector<std::int64_t>{1048064, 1048576}));
}

TEST(BlockLayout, ExpandableSegmentsSplitOffEveryRest) {
  const Followed followed(drawn_snapshot(R"(
    map A 20M
    alloc a A 20000000
    free a
  )"));
  EXPECT_EQ(followed.rows.size_bytes.raw(), (std::vector<std::int64_t>{20000256}));
}

TEST(BlockLayout, ARequestOfTheSplitLimitTakesItsWholeBlock) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 64M
    alloc a A 32M
    free a
    alloc b A 31M
    free b
  )");
  snapshot.settings.max_split_size_bytes = 32 * kMiB;
  const Followed followed(std::move(snapshot));
  EXPECT_EQ(followed.rows.size_bytes.raw(), (std::vector<std::int64_t>{64 * kMiB, 31 * kMiB}));
}

TEST(BlockLayout, AnOlderBlockTakesTheGapThatCannotHaveBeenSplitOff) {
  const Followed followed(drawn_snapshot(R"(
    older_segment A 20M
    older a A 7341000 block=8M
    older b A+8M 12M
    free a
  )"));
  EXPECT_EQ(followed.sizes_kib(), (std::vector<std::int64_t>{8192, 12288}));
  EXPECT_EQ(followed.result.estimated_count, 0);
}

TEST(BlockLayout, ALaterNeighbourTellsWhereAnOlderBlockEnded) {
  const Followed followed(drawn_snapshot(R"(
    older_segment A 20M
    older a A 7341000 block=8M
    alloc b A+8M 6M
    free a
    free b
  )"));
  EXPECT_EQ(followed.sizes_kib(), (std::vector<std::int64_t>{8192, 6144}));
  EXPECT_EQ(followed.result.estimated_count, 0);
}

TEST(BlockLayout, AnOlderBlockBeforeAFreeGapIsAnEstimate) {
  const Followed followed(drawn_snapshot(R"(
    older_segment A 20M
    older a A 7341056 block=8M
    free a
    alloc b A 20M
  )"));
  EXPECT_EQ(followed.rows.size_bytes.raw(), (std::vector<std::int64_t>{7341056, 20 * kMiB}));
  EXPECT_EQ(followed.result.estimated_count, 1);
}

TEST(BlockLayout, StepsThatRepeatTellTheMostLikelyBlock) {
  const std::string once = R"(
    older_segment A 20M
    older a A 7341056 block=8M
    free a
    alloc x A 8M
    alloc b A+8M 12M
    free x
    alloc a A 7341056 block=8M
    free a
  )";
  const Followed single(drawn_snapshot(once));
  EXPECT_EQ(single.rows.size_bytes[AllocationId(0)], 7341056);
  const Followed repeated(drawn_snapshot(once + "alloc a A 7341056 block=8M\nfree a\n"));
  EXPECT_EQ(repeated.rows.size_bytes[AllocationId(0)], 8 * kMiB);
  EXPECT_EQ(repeated.result.estimated_count, 1);
  const Followed varied(drawn_snapshot(once + R"(
    free b
    alloc a A 7341056
    free a
  )"));
  EXPECT_EQ(varied.rows.size_bytes[AllocationId(0)], 7341056);
}

TEST(BlockLayout, ARestOfExactlyOneMegabyteAtTheStartWantsAWitness) {
  const std::string history = R"(
    older_segment A 20M
    older a A 10M
    alloc b A+10M 9M
    free b
  )";
  const Followed doubtful(drawn_snapshot(history));
  EXPECT_EQ(doubtful.rows.size_bytes[AllocationId(1)], 9 * kMiB);
  EXPECT_EQ(doubtful.result.estimated_count, 1);
  const Followed shown(drawn_snapshot(history + "segment B 20M\nalloc c B 19M block=20M\n"));
  EXPECT_EQ(shown.rows.size_bytes[AllocationId(1)], 10 * kMiB);
  EXPECT_EQ(shown.result.estimated_count, 0);
}

TEST(BlockLayout, ABlockAtAnUnknownPlaceIsAnEstimate) {
  const Followed followed(drawn_snapshot(R"(
    alloc a X 6M
    free a
  )"));
  EXPECT_EQ(followed.rows.size_bytes.raw(), (std::vector<std::int64_t>{6 * kMiB}));
  EXPECT_EQ(followed.result.estimated_count, 1);
}

TEST(BlockRounding, IsOf512BytesByDefault) {
  const BlockRounding rounding{SnapshotSettings()};
  EXPECT_EQ(rounding.round(0), 512);
  EXPECT_EQ(rounding.round(512), 512);
  EXPECT_EQ(rounding.round(513), 1024);
  EXPECT_EQ(rounding.round(kMiB + 1), kMiB + 512);
}

TEST(BlockRounding, FollowsPowerOfTwoDivisions) {
  SnapshotSettings settings;
  settings.roundup_power2_divisions = {{1, 4}, {2, 4}, {4, 8}, {0, 7}, {8, -1}};
  const BlockRounding rounding(settings);
  EXPECT_EQ(rounding.round(1200), 1536);  // not over 512 * 4: ordinary rounding
  EXPECT_EQ(rounding.round(5000), 5120);  // between 4096 and 8192 in steps of 1024
  EXPECT_EQ(rounding.round(4096), 4096);
  EXPECT_EQ(rounding.round(2 * kMiB + 1), 2 * kMiB + kMiB / 2);
  EXPECT_EQ(rounding.round(4 * kMiB + 1), 4 * kMiB + kMiB / 2);
  EXPECT_EQ(rounding.round(9 * kMiB + 1), 9 * kMiB + 512);  // the odd setting is left out
}

}  // namespace
}  // namespace stepscope

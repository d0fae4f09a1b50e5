// Live sets by what a reader may ask for, and what grew, stayed or was held for long.
#include <gtest/gtest.h>

#include "memory/facts.h"
#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
const SnapshotDeviceId kFirst(0);

// "name bytes_in_MiB count" lines.
std::string text_of(const std::vector<LiveGroup>& groups) {
  std::string text;
  for (const LiveGroup& group : groups) {
    text += group.name + " " + std::to_string(group.bytes / kMiB) + " " + std::to_string(group.count.value()) + "\n";
  }
  return text;
}

std::string live_text(const MemorySnapshot& snapshot, LiveGrouping by, const std::string& moment = "peak") {
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const auto found = find_moment(snapshot, facts, facts.main_device, moment);
  EXPECT_TRUE(found);
  return found ? text_of(group_live(snapshot, facts, find_live(snapshot, facts, facts.main_device, *found), by)) : "";
}

TEST(LiveGroups, ByLineAreMostBytesFirstThenByName) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    alloc a A 4M @ /x/site-packages/torch/nn/modules/linear.py:134 forward; b.py:2 forward
    alloc b A+4M 2M @ a.py:1 main
    alloc c A+6M 6M @ b.py:2 forward
    alloc d A+12M 2M @ b.py:1 main
    alloc e A+14M 1M
  )");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kLine),
            "b.py:2 forward 10 2\na.py:1 main 2 1\nb.py:1 main 2 1\nno frames recorded 1 1\n");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kStack),
            "b.py:2 forward 6 1\nb.py:2 forward;/x/site-packages/torch/nn/modules/linear.py:134 forward 4 1\n"
            "a.py:1 main 2 1\nb.py:1 main 2 1\nno frames recorded 1 1\n");
}

TEST(LiveGroups, OlderBlocksHaveALineOnlyIfTheSegmentsKeepIt) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 40M
    older kept A 4M @ model.py:3 build
    older silent A+4M 3M
    older freed A+7M 2M @ lost.py:1 f
    alloc a A+9M 1M @ train.py:1 main
    free freed
  )");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kLine),
            "older than the history 5 2\nmodel.py:3 build 4 1\ntrain.py:1 main 1 1\n");
}

TEST(LiveGroups, WithoutAnyFramesInTheFileBlocksThatStayHaveNone) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 40M
    older kept A 4M
    older freed A+4M 2M
    alloc a A+6M 1M
    free freed
  )");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kLine), "no frames recorded 5 2\nolder than the history 2 1\n");
}

TEST(LiveGroups, ByStreamPoolSpanAndDevice) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    start load
    alloc a A 4M stream=7
    end load
    alloc b A+4M 3M pool=0:1
    alloc c A+7M 2M pool=0:0
  )");
  for (SnapshotPoolId& pool : snapshot.segments.pool.raw()) pool = SnapshotPoolId(0);  // the private one
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kStream), "stream 0 5 2\nstream 7 4 1\n");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kPool), "private pool (0, 1) 7 2\ndefault pool 2 1\n");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kSpan), "outside spans 5 2\nload 4 1\n");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kDevice), "cuda:0 9 3\n");
}

TEST(LiveGroups, ByModuleAreTheUsersForwardFunctions) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    alloc a A 4M @ /x/site-packages/torch/nn/modules/linear.py:134 forward; /x/site-packages/torch/nn/modules/module.py:1 _call_impl; net.py:7 Block.forward; net.py:20 Net.forward
    alloc b A+4M 3M @ net.py:9 Block.forward; net.py:20 Net.forward
    alloc c A+7M 2M @ train.py:5 main
    alloc d A+9M 1M
  )");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kModule),
            "net.py Block.forward > nn/modules/linear.py 4 1\nnet.py Block.forward 3 1\noutside modules 2 1\n"
            "no frames recorded 1 1\n");
  snapshot.entries.forward_stack[SnapshotEntryId(4)] = SnapshotStackId(1);  // made by backward of that module
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kModule),
            "net.py Block.forward 4 2\nnet.py Block.forward > nn/modules/linear.py 4 1\noutside modules 2 1\n");
}

TEST(LiveGroups, WhatBackwardMadeIsNamedByTheForwardLine) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    alloc a A 4M @ net.py:7 forward
    alloc b A+4M 3M
    alloc c A+7M 2M @ ??:0 torch::autograd::Engine::thread_main(int)
    alloc d A+9M 1M @ hook.py:2 backward
  )");
  for (std::uint32_t entry = 2; entry < 5; ++entry) {
    snapshot.entries.forward_stack[SnapshotEntryId(entry)] = SnapshotStackId(0);
  }
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kLine),
            "backward of net.py:7 forward 5 2\nnet.py:7 forward 4 1\nhook.py:2 backward 1 1\n");
}

TEST(LiveGroups, APoolIsTheOneOfTheSegmentWhereEntriesDoNotSay) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    alloc a X 4M
    segment A 40M pool=0:1
    alloc b A 3M
  )");
  EXPECT_EQ(live_text(snapshot, LiveGrouping::kPool), "no pool recorded 4 1\nprivate pool (0, 1) 3 1\n");
}

TEST(StepGrowth, WhatIsMadeAnewInEveryStepCancelsOut) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 400M
    start step#0
    alloc g0 A 4M @ train.py:7 backward
    alloc l0 A+50M 1M @ train.py:9 log
    start step#1
    free g0
    alloc g1 A+10M 4M @ train.py:7 backward
    alloc l1 A+51M 1M @ train.py:9 log
    start step#2
    free g1
    alloc g2 A 4M @ train.py:7 backward
    alloc l2 A+52M 1M @ train.py:9 log
    start step#3
    free g2
    alloc g3 A+10M 5M @ train.py:7 backward
    alloc l3 A+53M 1M @ train.py:9 log
    end step#3
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const auto lines = find_step_growth(snapshot, facts, kFirst, LiveGrouping::kLine);
  ASSERT_EQ(lines.size(), 2U);
  // Steps 1 and 2 left a loss each; the last one is not judged.
  EXPECT_EQ(lines[0].grown.name, "train.py:9 log");
  EXPECT_EQ(lines[0].grown.bytes, 3 << 20);
  EXPECT_EQ(lines[0].grown.count, 3);
  EXPECT_EQ(lines[0].step_count, 2U);
  // The last gradient is 1 MiB larger; no step before left one.
  EXPECT_EQ(lines[1].grown.bytes, 1 << 20);
  EXPECT_EQ(lines[1].step_count, 0U);
}

TEST(Growth, IsWhatWasMadeBetweenAndIsStillLive) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    alloc a A 4M @ a.py:1 f
    alloc b A+4M 3M @ b.py:1 f
    alloc c A+7M 2M @ c.py:1 f
    free b
    alloc d A+4M 1M @ d.py:1 f
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_EQ(text_of(find_growth(snapshot, facts, kFirst, 2, 7, LiveGrouping::kLine)), "c.py:1 f 2 1\nd.py:1 f 1 1\n");
  EXPECT_EQ(text_of(find_growth(snapshot, facts, kFirst, 2, 4, LiveGrouping::kLine)), "b.py:1 f 3 1\nc.py:1 f 2 1\n");
  EXPECT_EQ(text_of(group_never_freed(snapshot, facts, kFirst, LiveGrouping::kLine)),
            "a.py:1 f 4 1\nc.py:1 f 2 1\nd.py:1 f 1 1\n");
}

TEST(NeverFreed, IsWithoutWhatWaitsForOtherStreams) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 40M
    alloc a A 4M @ a.py:1 f
    alloc b A+4M 3M @ b.py:1 f
    free b
  )");
  // The completion is the last entry: without it the free was asked for and is under way.
  snapshot.devices.entries[kFirst].end -= 1;
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_EQ(text_of(group_never_freed(snapshot, facts, kFirst, LiveGrouping::kLine)), "a.py:1 f 4 1\n");
}

TEST(ByteTime, IsBytesTimesTheTimeHeld) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 40M
    older old A 1M
    alloc a A+1M 4M @ a.py:1 f
    free a
    alloc b A+1M 2M @ b.py:1 f
    snapshot
    snapshot
    free old
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const auto groups = group_byte_time(snapshot, facts, kFirst, LiveGrouping::kLine);
  ASSERT_EQ(groups.size(), 3U);
  // Entries come every millisecond: a is held for 2 ms, b from 4 ms to the last entry at 8 ms, the older one for 7 ms.
  EXPECT_DOUBLE_EQ(groups[0].byte_seconds, 4.0 * kMiB * 0.002);
  EXPECT_EQ(groups[0].name, "a.py:1 f");
  EXPECT_DOUBLE_EQ(groups[1].byte_seconds, 2.0 * kMiB * 0.004);
  EXPECT_DOUBLE_EQ(groups[2].byte_seconds, 1.0 * kMiB * 0.007);
  for (MaybeInt& time : snapshot.entries.time_us.raw()) time = {};
  EXPECT_TRUE(group_byte_time(snapshot, facts, kFirst, LiveGrouping::kLine).empty());
}

}  // namespace
}  // namespace stepscope

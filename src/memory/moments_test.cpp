// How a person names a moment, and what is said to one who names none.
#include <gtest/gtest.h>

#include "memory/facts.h"
#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

class Moments : public ::testing::Test {
 protected:
  // Entries at 1, 2, ... 5 ms; the peak is after entry 2.
  MemorySnapshot snapshot_ = drawn_snapshot(R"(
    segment A 20M
    alloc a A 4M
    alloc b A+4M 4M
    free b
  )");
  MemoryFacts facts_ = compute_memory_facts(snapshot_);

  [[nodiscard]] std::optional<std::size_t> find(std::string_view text) const {
    const auto found = find_moment(snapshot_, facts_, SnapshotDeviceId(0), text);
    return found ? std::optional(*found) : std::nullopt;
  }
  [[nodiscard]] std::string refuse(std::string_view text) const {
    const auto found = find_moment(snapshot_, facts_, SnapshotDeviceId(0), text);
    return found ? "" : found.error().message;
  }
};

TEST_F(Moments, HaveNames) {
  EXPECT_EQ(find("start"), 0U);
  EXPECT_EQ(find("peak"), 3U);
  EXPECT_EQ(find("end"), 5U);
  EXPECT_EQ(find("#0"), 1U);
  EXPECT_EQ(find("#4"), 5U);
}

TEST_F(Moments, HaveTimes) {
  EXPECT_EQ(find("0s"), 1U);
  EXPECT_EQ(find("2ms"), 3U);
  EXPECT_EQ(find("0.0025s"), 3U);
  EXPECT_EQ(find("2999us"), 3U);
  EXPECT_EQ(find("4ms"), 5U);
  EXPECT_EQ(find("3000"), 3U);
  EXPECT_EQ(find("5000"), 5U);
}

TEST_F(Moments, AreRefusedWithWhatIsWanted) {
  EXPECT_NE(refuse("oom").find("no out-of-memory was recorded"), std::string::npos);
  EXPECT_NE(refuse("#5").find("5 entries"), std::string::npos);
  EXPECT_NE(refuse("#x").find("an entry is a number"), std::string::npos);
  EXPECT_NE(refuse("999").find("before the first entry (1000)"), std::string::npos);
  for (const std::string_view text : {"", "soon", "-1s", "nans", "infs", "#", "12 s"}) {
    EXPECT_NE(refuse(text).find("peak, oom, start, end, #ENTRY"), std::string::npos) << text;
  }
  for (MaybeInt& time : snapshot_.entries.time_us.raw()) time = {};
  EXPECT_NE(refuse("2ms").find("the entries have no times"), std::string::npos);
}

TEST_F(Moments, AfterTheLastEntryAreNotInTheFile) {
  EXPECT_NE(refuse("4001us").find("the last entry is at 4.000ms"), std::string::npos) << refuse("4001us");
  EXPECT_NE(refuse("1e30s").find("the last entry is at 4.000ms"), std::string::npos);
  EXPECT_NE(refuse("5001").find("after the last entry (5000)"), std::string::npos);
}

TEST(MomentsWithoutHistory, OnlyTheEndIsKnown) {
  const MemorySnapshot snapshot = drawn_snapshot("older_segment A 20M\n");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  for (const char* text : {"start", "peak", "oom", "#0", "0s"}) {
    const auto found = find_moment(snapshot, facts, SnapshotDeviceId(0), text);
    ASSERT_FALSE(found) << text;
    EXPECT_NE(found.error().message.find("no history was recorded"), std::string::npos);
  }
  EXPECT_TRUE(find_moment(snapshot, facts, SnapshotDeviceId(0), "end"));
}

TEST_F(Moments, TheLastOomIsMeant) {
  const MemorySnapshot snapshot = drawn_snapshot("segment A 20M\noom 30M\nalloc a A 2M\noom 40M\nfree a\n");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_EQ(*find_moment(snapshot, facts, SnapshotDeviceId(0), "oom"), 4U);
}

}  // namespace
}  // namespace stepscope

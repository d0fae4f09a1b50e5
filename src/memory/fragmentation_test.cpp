// Free pieces: in all, and of what a failing request could have used.
#include "memory/fragmentation.h"

#include <gtest/gtest.h>

#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
const SnapshotDeviceId kFirst(0);

const std::string kPieces = R"(
  segment A 20M
  alloc a A 12M
  segment B 20M
  alloc b B 14M
  segment C 20M stream=7
  alloc c C 10M stream=7
  segment D 20M pool=0:1
  alloc d D 9M pool=0:1
  segment S 2M
  alloc s S 1M
)";

TEST(Fragmentation, OfTheEndCountsEveryFreePiece) {
  const MemoryFacts facts = compute_memory_facts(drawn_snapshot(kPieces));
  const DeviceMemoryFacts& device = facts.devices[kFirst];
  EXPECT_EQ(device.fragmentation.free_bytes, (8 + 6 + 10 + 11 + 1) * kMiB);
  EXPECT_EQ(device.fragmentation.largest_free_bytes, 11 * kMiB);
  EXPECT_EQ(device.fragmentation.free_piece_count, 5);
  EXPECT_EQ(device.free_in_private_pools_bytes, 11 * kMiB);
}

TEST(Fragmentation, AnOomSeesOnlyItsPoolStreamAndSizeClass) {
  const MemoryFacts facts = compute_memory_facts(drawn_snapshot(kPieces + "oom 12M device_free=1M\nsnapshot\n"));
  ASSERT_EQ(facts.devices[kFirst].ooms.size(), 1U);
  const OomFacts& oom = facts.devices[kFirst].ooms[0];
  EXPECT_EQ(oom.request_bytes, 12 * kMiB);
  EXPECT_EQ(oom.device_free_bytes.value(), kMiB);
  EXPECT_EQ(oom.reserved_bytes, 82 * kMiB);
  EXPECT_EQ(oom.allocated_bytes, 46 * kMiB);
  ASSERT_TRUE(oom.fragmentation.has_value());
  EXPECT_EQ(oom.fragmentation->usable.free_bytes, 14 * kMiB);
  EXPECT_EQ(oom.fragmentation->usable.largest_free_bytes, 8 * kMiB);
  EXPECT_EQ(oom.fragmentation->usable.free_piece_count, 2);
  EXPECT_EQ(oom.fragmentation->in_other_private_pools_bytes, 11 * kMiB);
  EXPECT_EQ(oom.fragmentation->on_other_streams_bytes, 10 * kMiB);
  EXPECT_EQ(oom.fragmentation->in_other_size_class_bytes, kMiB);
  EXPECT_EQ(oom.fragmentation->in_default_pool_bytes, 0);
  EXPECT_TRUE(oom.is_fragmentation);
}

TEST(Fragmentation, AnOomOfAPrivatePoolCannotUseTheDefaultOne) {
  const MemoryFacts facts = compute_memory_facts(drawn_snapshot(kPieces + "oom 12M pool=0:1\n"));
  const OomFacts& oom = facts.devices[kFirst].ooms[0];
  EXPECT_EQ(oom.fragmentation->usable.free_bytes, 11 * kMiB);
  EXPECT_EQ(oom.fragmentation->in_default_pool_bytes, (8 + 6 + 10 + 1) * kMiB);
  EXPECT_FALSE(oom.is_fragmentation);  // 11 MiB would not have been enough in one piece either
}

// 5 MiB take a segment of 20 MiB from the device: with 10 MiB left it is the device that refuses.
TEST(Fragmentation, ACapRefusedWhatTheDeviceHadRoomFor) {
  const auto ooms = [](const std::string& text) {
    return compute_memory_facts(drawn_snapshot(text)).devices[kFirst].ooms;
  };
  const std::vector<OomFacts> found = ooms(
      "segment A 20M\noom 5M device_free=10M\noom 5M device_free=20M\n"
      "oom 30M device_free=29M\noom 30M device_free=30M\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_FALSE(found[0].is_refused_by_cap);
  EXPECT_EQ(found[0].device_free_bytes.value(), 10 * kMiB);
  EXPECT_TRUE(found[1].is_refused_by_cap);
  EXPECT_FALSE(found[2].is_refused_by_cap);
  EXPECT_TRUE(found[3].is_refused_by_cap);
}

TEST(Fragmentation, OfAnEarlierMomentIsNotKnown) {
  const MemoryFacts facts = compute_memory_facts(drawn_snapshot(kPieces + "oom 12M\nfree a\noom 30M\n"));
  ASSERT_EQ(facts.devices[kFirst].ooms.size(), 2U);
  EXPECT_FALSE(facts.devices[kFirst].ooms[0].fragmentation.has_value());
  EXPECT_TRUE(facts.devices[kFirst].ooms[1].fragmentation.has_value());
  EXPECT_EQ(facts.devices[kFirst].ooms[1].allocated_bytes, 34 * kMiB);
}

}  // namespace
}  // namespace stepscope

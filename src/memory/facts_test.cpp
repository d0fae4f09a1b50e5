// Levels and pairs: drawn histories whose numbers can be added up by hand, and properties on histories made at random.
#include "memory/facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "support/drawn_snapshot.h"

namespace stepscope {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
const SnapshotDeviceId kFirst(0);

const LevelFacts& level(const MemoryFacts& facts, MemoryLevelKind kind, SnapshotDeviceId device = kFirst) {
  return facts.devices[device].levels[static_cast<std::size_t>(kind)];
}

TEST(MemoryFacts, PeakIsTheFirstMomentAtTheHighestLevel) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 20M
    alloc a A 8M
    alloc b A+8M 4M
    free b
    alloc c A+8M 4M
    free a
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const LevelFacts& requested = level(facts, MemoryLevelKind::kRequested);
  EXPECT_EQ(requested.start_bytes, 0);
  EXPECT_EQ(requested.peak_bytes, 12 * kMiB);
  EXPECT_EQ(requested.peak_entry, SnapshotEntryId(2));  // not the equal level after entry 5
  EXPECT_EQ(requested.end_bytes, 4 * kMiB);
  EXPECT_TRUE(facts.devices[kFirst].is_whole_life);
  EXPECT_EQ(facts.main_device, kFirst);
}

TEST(MemoryFacts, AllocatedFallsAtTheRequestActiveAtTheCompletion) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 20M
    alloc a A 1000 stream=7
    request a
    alloc b A+1M 4000
    complete a
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const auto levels = [&](MemoryLevelKind kind) { return compute_level(snapshot, facts, kFirst, kind); };
  EXPECT_EQ(levels(MemoryLevelKind::kRequested), (std::vector<std::int64_t>{0, 0, 1000, 1000, 5000, 4000}));
  EXPECT_EQ(levels(MemoryLevelKind::kAllocated), (std::vector<std::int64_t>{0, 0, 1024, 0, 4096, 4096}));
  EXPECT_EQ(levels(MemoryLevelKind::kActive), (std::vector<std::int64_t>{0, 0, 1024, 1024, 5120, 4096}));
  EXPECT_EQ(levels(MemoryLevelKind::kReserved),
            (std::vector<std::int64_t>{0, 20 * kMiB, 20 * kMiB, 20 * kMiB, 20 * kMiB, 20 * kMiB}));
}

TEST(MemoryFacts, WhatIsFreedUnseenOrLiveUnseenWasLiveAtTheStart) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 20M
    older kept A 10M
    older freed A+10M 4M
    alloc a A+14M 5M
    free freed
    free a
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const LevelFacts& requested = level(facts, MemoryLevelKind::kRequested);
  EXPECT_EQ(requested.start_bytes, 14 * kMiB);
  EXPECT_EQ(requested.peak_bytes, 19 * kMiB);
  EXPECT_EQ(requested.end_bytes, 10 * kMiB);
  EXPECT_EQ(facts.devices[kFirst].older_count, MaybeInt{2});
  EXPECT_FALSE(facts.devices[kFirst].is_whole_life);
  EXPECT_EQ(facts.devices[kFirst].contradiction_count, 0);
}

TEST(MemoryFacts, APeakBeforeTheHistoryHasNoEntry) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 20M
    older a A 10M
    free a
    alloc b A 4M
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_EQ(level(facts, MemoryLevelKind::kRequested).peak_bytes, 10 * kMiB);
  EXPECT_FALSE(level(facts, MemoryLevelKind::kRequested).peak_entry.has_value());
}

TEST(MemoryFacts, AFreePendingAtTheStartIsActiveNotAllocated) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 20M
    older pending A 2M
    complete pending
    alloc a A 3M
    free a
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_EQ(level(facts, MemoryLevelKind::kAllocated).start_bytes, 0);
  EXPECT_EQ(level(facts, MemoryLevelKind::kActive).start_bytes, 2 * kMiB);
  EXPECT_EQ(level(facts, MemoryLevelKind::kRequested).start_bytes, 2 * kMiB);
}

TEST(MemoryFacts, ReservedRunsBackwardsFromTheSegments) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 20M
    older_segment B 20M
    segment C 40M
    segment_free B
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const LevelFacts& reserved = level(facts, MemoryLevelKind::kReserved);
  EXPECT_EQ(reserved.start_bytes, 40 * kMiB);
  EXPECT_EQ(reserved.peak_bytes, 80 * kMiB);
  EXPECT_EQ(reserved.peak_entry, SnapshotEntryId(0));
  EXPECT_EQ(reserved.end_bytes, 60 * kMiB);
  EXPECT_EQ(facts.devices[kFirst].cuda_malloc_count, 1);
  EXPECT_EQ(facts.devices[kFirst].cuda_free_count, 1);
}

TEST(MemoryFacts, LostEntriesAreCountedAndLevelsStaySound) {
  MemorySnapshot snapshot = drawn_snapshot(R"(
    segment A 20M
    alloc a A 4M
    free a
    alloc b A 6M
    free b
  )");
  // The free of `a` is lost, and `b` is freed twice: two entries of another kind in their place.
  snapshot.entries.action[SnapshotEntryId(2)] = AllocatorAction::kUnknown;
  snapshot.entries.action[SnapshotEntryId(3)] = AllocatorAction::kUnknown;
  const MemoryFacts once = compute_memory_facts(snapshot);
  EXPECT_EQ(once.devices[kFirst].contradiction_count, 1);
  EXPECT_EQ(level(once, MemoryLevelKind::kRequested).peak_bytes, 6 * kMiB);
  snapshot.entries.action[SnapshotEntryId(5)] = AllocatorAction::kFreeCompleted;
  const MemoryFacts twice = compute_memory_facts(snapshot);
  EXPECT_GE(twice.devices[kFirst].contradiction_count, 2);
  EXPECT_EQ(level(twice, MemoryLevelKind::kRequested).end_bytes, 0);
}

TEST(MemoryFacts, WithoutHistoryOnlyTheEndIsKnown) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 20M
    older a A 8M
    user_defined
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_FALSE(facts.devices[kFirst].has_history);
  EXPECT_FALSE(facts.devices[kFirst].is_whole_life);
  EXPECT_EQ(level(facts, MemoryLevelKind::kAllocated).end_bytes, 8 * kMiB);
  EXPECT_EQ(level(facts, MemoryLevelKind::kReserved).end_bytes, 20 * kMiB);
  EXPECT_FALSE(find_moment(snapshot, facts, kFirst, "peak"));
}

TEST(MemoryFacts, TheMainDeviceIsTheOneWithActivity) {
  const MemorySnapshot snapshot = drawn_snapshot(R"(
    older_segment A 200M device=0
    older stray A 100M
    user_defined device=0
    user_defined device=0
    segment B 20M device=2
    alloc b B 4M device=2
  )");
  const MemoryFacts facts = compute_memory_facts(snapshot);
  ASSERT_EQ(facts.devices.size(), 2U);
  EXPECT_EQ(facts.main_device, SnapshotDeviceId(1));
  EXPECT_EQ(snapshot.devices.number[facts.main_device], 2);
}

TEST(MemoryFacts, AnEmptySnapshotHasNoDevice) {
  const MemorySnapshot snapshot;
  const MemoryFacts facts = compute_memory_facts(snapshot);
  EXPECT_FALSE(facts.main_device.has_value());
  EXPECT_EQ(facts.devices.size(), 0U);
}

// A history of a few blocks at random places: allocated, let go, given back, some older than the history.
std::string random_history(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text = "older_segment A 1G\n";
  constexpr int kPlaces = 12;
  std::vector<int> state(kPlaces, 0);  // 0 free, 1 live, 2 pending
  for (int place = 0; place < kPlaces; place += 3) {
    text += "older p" + std::to_string(place) + " A+" + std::to_string(place * 8) + "M 3M\n";
    state[static_cast<std::size_t>(place)] = 1;
  }
  for (int step = 0; step < 200; ++step) {
    const int place = static_cast<int>(random() % kPlaces);
    std::string name = std::to_string(place);
    name.insert(name.begin(), 'p');  // GCC 12 warns of "p" + it, falsely
    int& now = state[static_cast<std::size_t>(place)];
    if (now == 0) {
      text += "alloc " + name + " A+" + std::to_string(place * 8) + "M " + std::to_string(random() % 5000000 + 1) +
              " @ train.py:" + std::to_string(place) + " step\n";
      now = 1;
    } else if (now == 2) {
      text += "complete " + name + "\n";
      now = 0;
    } else if (random() % 2 == 0) {
      text += "free " + name + "\n";
      now = 0;
    } else {
      text += "request " + name + "\n";
      now = 2;
    }
  }
  return text;
}

std::int64_t sum_of(const std::vector<LiveGroup>& groups) {
  return std::accumulate(groups.begin(), groups.end(), std::int64_t{0},
                         [](std::int64_t sum, const LiveGroup& group) { return sum + group.bytes; });
}

TEST(MemoryFactsProperties, TheLiveSetAddsUpToTheLevelAtEveryMoment) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const MemorySnapshot snapshot = drawn_snapshot(random_history(seed));
    const MemoryFacts facts = compute_memory_facts(snapshot);
    EXPECT_EQ(facts.devices[kFirst].contradiction_count, 0) << seed;
    const auto requested = compute_level(snapshot, facts, kFirst, MemoryLevelKind::kRequested);
    const auto allocated = compute_level(snapshot, facts, kFirst, MemoryLevelKind::kAllocated);
    const auto active = compute_level(snapshot, facts, kFirst, MemoryLevelKind::kActive);
    for (std::size_t moment = 0; moment < requested.size(); ++moment) {
      const auto live = find_live(snapshot, facts, kFirst, moment);
      for (const LiveGrouping by : {LiveGrouping::kLine, LiveGrouping::kStream, LiveGrouping::kCategory}) {
        ASSERT_EQ(sum_of(group_live(snapshot, facts, live, by)), requested[moment]) << seed << " at " << moment;
      }
      ASSERT_GE(allocated[moment], 0);
      ASSERT_LE(allocated[moment], active[moment]);
      ASSERT_LE(requested[moment], active[moment]);
    }
    EXPECT_EQ(requested.front(), level(facts, MemoryLevelKind::kRequested).start_bytes);
    EXPECT_EQ(requested.back(), level(facts, MemoryLevelKind::kRequested).end_bytes);
  }
}

TEST(MemoryFactsProperties, GrowthAndWhatWasFreedMakeTheChangeOfTheLevel) {
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    const MemorySnapshot snapshot = drawn_snapshot(random_history(seed));
    const MemoryFacts facts = compute_memory_facts(snapshot);
    const auto requested = compute_level(snapshot, facts, kFirst, MemoryLevelKind::kRequested);
    const std::size_t before = 40;
    const std::size_t after = 170;
    std::int64_t gone = 0;
    const auto live_after = find_live(snapshot, facts, kFirst, after);
    for (const AllocationId row : find_live(snapshot, facts, kFirst, before)) {
      if (!std::binary_search(live_after.begin(), live_after.end(), row))
        gone += facts.allocations.requested_bytes[row];
    }
    const auto growth = find_growth(snapshot, facts, kFirst, before, after, LiveGrouping::kLine);
    EXPECT_EQ(sum_of(growth) - gone, requested[after] - requested[before]) << seed;
  }
}

TEST(MemoryFactsProperties, RowsComeOlderFirstThenInTheOrderOfTheirMaking) {
  const MemorySnapshot snapshot = drawn_snapshot(random_history(3));
  const MemoryFacts facts = compute_memory_facts(snapshot);
  const Allocations& rows = facts.allocations;
  ASSERT_EQ(facts.devices[kFirst].older_count, MaybeInt{4});
  for (std::uint32_t at = 1; at < rows.size(); ++at) {
    const AllocationId before(at - 1);
    const AllocationId after(at);
    if (at < 4) {
      EXPECT_LT(rows.address[before], rows.address[after]);
    } else {
      ASSERT_TRUE(rows.alloc_entry[after].has_value());
    }
    if (!rows.alloc_entry[before].has_value()) continue;
    EXPECT_LT(rows.alloc_entry[before], rows.alloc_entry[after]);
  }
}

// Nothing in it agrees with anything: addresses, sizes, times, blocks and stacks at random, some of them absurd.
MemorySnapshot random_garbage(std::uint32_t seed) {
  std::mt19937_64 random(seed);
  const auto size = [&]() -> std::int64_t {
    const std::uint64_t kind = random() % 8;
    if (kind == 0) return std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(kind < 3 ? random() % 4096 : random() % (64ULL << 20));
  };
  const auto address = [&]() { return random() % 16 == 0 ? random() : (random() % 24) << 21; };
  MemorySnapshot snapshot = drawn_snapshot("alloc a A 1M @ a.py:1 forward; b.py:2 main\nfree a\n");
  snapshot.devices = {};
  snapshot.entries = {};
  SnapshotDevices::Row device;
  for (int at = 0; at < 300; ++at) {
    SnapshotEntries::Row row;
    row.action = static_cast<AllocatorAction>(random() % 11);
    row.category = static_cast<MemoryCategory>(random() % kMemoryCategoryCount);
    row.address = address();
    row.size_bytes = size();
    if (random() % 2 == 0) row.stack = SnapshotStackId(0);
    if (random() % 2 == 0) row.forward_stack = SnapshotStackId(0);
    row.time_us = random() % 9 == 0 ? MaybeInt() : MaybeInt(static_cast<std::int64_t>(random()));
    snapshot.entries.push_back(row);
  }
  for (int at = 0; at < 20; ++at) {
    SnapshotAnnotations::Row row;
    row.name = snapshot.strings.intern(random() % 2 == 0 ? "step#1" : "Optimizer.step#x");
    row.is_start = static_cast<std::uint8_t>(random() % 2);
    row.time_us = static_cast<std::int64_t>(random());
    snapshot.annotations.push_back(row);
  }
  for (int at = 0; at < 12; ++at) {
    SnapshotSegments::Row segment;
    segment.address = address();
    segment.total_bytes = size();
    segment.blocks.begin = static_cast<std::uint32_t>(snapshot.blocks.size());
    for (int block = 0; block < 3; ++block) {
      SnapshotBlocks::Row row;
      row.address = address();
      row.size_bytes = size();
      row.state = static_cast<BlockState>(random() % 3);
      snapshot.blocks.push_back(row);
    }
    segment.blocks.end = static_cast<std::uint32_t>(snapshot.blocks.size());
    snapshot.segments.push_back(segment);
  }
  device.entries.end = static_cast<std::uint32_t>(snapshot.entries.size());
  device.segments.end = static_cast<std::uint32_t>(snapshot.segments.size());
  snapshot.devices.push_back(device);
  snapshot.settings.roundup_power2_divisions = {{1, size()}, {64, size()}};
  snapshot.settings.max_split_size_bytes = size();
  return snapshot;
}

TEST(MemoryFactsProperties, GarbageGivesLevelsThatAreStillItsLiveSets) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const MemorySnapshot snapshot = random_garbage(seed);
    const MemoryFacts facts = compute_memory_facts(snapshot);
    const auto requested = compute_level(snapshot, facts, kFirst, MemoryLevelKind::kRequested);
    for (const std::size_t moment : {std::size_t{0}, std::size_t{100}, snapshot.entries.size()}) {
      std::uint64_t sum = 0;  // wraps, as the level does
      const auto live = find_live(snapshot, facts, kFirst, moment);
      for (const LiveGroup& group : group_live(snapshot, facts, live, LiveGrouping::kModule)) {
        sum += static_cast<std::uint64_t>(group.bytes);
      }
      ASSERT_EQ(static_cast<std::int64_t>(sum), requested[moment]) << seed << " at " << moment;
    }
    EXPECT_GT(facts.devices[kFirst].contradiction_count, 0);
    (void)compare_steps(snapshot, facts, kFirst, LiveGrouping::kSpan);
    (void)group_byte_time(snapshot, facts, kFirst, LiveGrouping::kStack);
    (void)find_moment(snapshot, facts, kFirst, "1s");
  }
}

}  // namespace
}  // namespace stepscope

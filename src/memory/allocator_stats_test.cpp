// Against torch.cuda.memory_stats of recordings from an H200 (tests/data/memory/README.md), and what stays unknown.
#include "memory/allocator_stats.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "memory/snapshot_test_support.h"

namespace stepscope {
namespace {

// The tests' recordings are compressed, and opening gzip is another room's work.
MemorySnapshot recording(const std::string& name) {
  const std::string command = "gzip -dc '" STEPSCOPE_TESTS_DIR "/data/memory/h200/" + name + ".pickle.gz'";
  std::string bytes;
  std::FILE* pipe = popen(command.c_str(), "r");
  char part[1 << 16];
  for (std::size_t size = 0; pipe != nullptr && (size = std::fread(part, 1, sizeof part, pipe)) > 0;) {
    bytes.append(part, size);
  }
  if (pipe != nullptr) pclose(pipe);
  auto snapshot = read_snapshot_bytes(bytes);
  EXPECT_TRUE(snapshot.has_value()) << name;
  return snapshot.has_value() ? std::move(*snapshot) : MemorySnapshot();
}

AllocatorStats stats_of(const MemorySnapshot& snapshot) {
  return compute_allocator_stats(snapshot, compute_memory_facts(snapshot), SnapshotDeviceId(std::size_t{0}));
}

using Metric = AllocatorMetric;

TEST(AllocatorStats, RecordingsHaveTorchsNumbers) {
  const AllocatorStats before = stats_of(recording("snap"));
  EXPECT_EQ(before.of(Metric::kReservedBytes).current, 2'975'858'688);
  EXPECT_EQ(before.of(Metric::kSegment).current, 53);
  EXPECT_EQ(before.of(Metric::kAllocatedBytes).current, 504'561'664);
  const AllocatorStats failed = stats_of(recording("snap.oom"));
  EXPECT_EQ(failed.of(Metric::kReservedBytes).peak, 3'001'024'512);
  EXPECT_EQ(failed.of(Metric::kRequestedBytes).peak, 2'891'536'444);
  EXPECT_EQ(failed.of(Metric::kSegment).current, 54);
  EXPECT_EQ(failed.oom_count, 1);
}

TEST(AllocatorStats, ExpandableSegmentsAreNoSegments) {
  const AllocatorStats stats = stats_of(recording("snapx.oom"));
  EXPECT_EQ(stats.of(Metric::kReservedBytes).peak, 3'001'024'512);
  EXPECT_EQ(stats.of(Metric::kRequestedBytes).peak, 2'232'614'920);
  EXPECT_EQ(stats.of(Metric::kSegment).current, 0);
  EXPECT_EQ(stats.of(Metric::kInactiveSplit).current, 0);
  EXPECT_FALSE(stats.device_alloc_count.has_value());
}

// What goes up has come down, or is there.
TEST(AllocatorStats, TotalsAreThatOfThePools) {
  for (const char* name : {"snap", "snap.oom", "snapx", "snapx.oom"}) {
    SCOPED_TRACE(name);
    const AllocatorStats stats = stats_of(recording(name));
    ASSERT_TRUE(stats.is_whole);
    for (const auto& pools : stats.metrics) {
      if (!pools[0].allocated) continue;
      EXPECT_EQ(*pools[0].current, *pools[1].current + *pools[2].current);
      EXPECT_EQ(*pools[0].allocated, *pools[1].allocated + *pools[2].allocated);
      for (const AllocatorStat& stat : pools) {
        EXPECT_EQ(*stat.allocated - *stat.freed, *stat.current);
        EXPECT_GE(*stat.peak, *stat.current);
      }
    }
  }
}

TEST(AllocatorStats, WhatASnapshotCannotKnowIsMissing) {
  const AllocatorStats cut = stats_of(snapshot_of_file("C03_before_history.pickle"));
  EXPECT_FALSE(cut.is_whole);
  std::map<std::string, std::optional<std::int64_t>> listed;
  for (const auto& [key, value] : list_allocator_stats(cut)) listed[key] = value;
  EXPECT_EQ(listed.size(), 9U * 3 * 4 + 2 * 4 + 5);
  EXPECT_TRUE(listed.at("allocated_bytes.all.current").has_value());
  for (const char* key : {"allocated_bytes.all.peak", "allocation.large_pool.freed", "inactive_split.all.peak",
                          "num_ooms", "num_alloc_retries", "num_sync_all_streams"}) {
    EXPECT_FALSE(listed.at(key).has_value()) << key;
  }
}

}  // namespace
}  // namespace stepscope

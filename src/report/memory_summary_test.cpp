// The table as torch 2.13 printed it of the same numbers, line by line, and dashes for what is not known.
#include "report/memory_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stepscope {
namespace {

// As the numbers went into torch's own function: key after key, the next of eight.
AllocatorStats numbered() {
  constexpr std::array<std::int64_t, 8> kNumbers = {
      0, 5, 1023, 5 * 1024 * 1024, 99'999, 12'345'678'901, std::int64_t{1} << 45, std::int64_t{1} << 62};
  std::size_t next = 0;
  auto number = [&] { return std::optional(kNumbers[++next % 8]); };
  AllocatorStats stats;
  auto fill = [&](AllocatorStat& stat) {
    stat.current = number();
    stat.peak = number();
    stat.allocated = number();
    stat.freed = number();
  };
  constexpr std::array<AllocatorMetric, kAllocatorMetricCount> kOrder = {
      AllocatorMetric::kAllocation,     AllocatorMetric::kSegment,
      AllocatorMetric::kActive,         AllocatorMetric::kInactiveSplit,
      AllocatorMetric::kAllocatedBytes, AllocatorMetric::kReservedBytes,
      AllocatorMetric::kActiveBytes,    AllocatorMetric::kInactiveSplitBytes,
      AllocatorMetric::kRequestedBytes};
  for (const AllocatorMetric metric : kOrder) {
    for (const StatPool pool : {StatPool::kAll, StatPool::kLarge, StatPool::kSmall}) fill(stats.of(metric, pool));
  }
  fill(stats.oversize_allocations);
  fill(stats.oversize_segments);
  stats.oom_count = 3;
  stats.alloc_retry_count = 7;
  return stats;
}

TEST(MemorySummary, IsTorchsTable) {
  const std::string text = write_memory_summary(numbered(), true);
  EXPECT_EQ(text, R"(|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 0                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 3            |        cudaMalloc retries: 7         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |      5 B   |   1023 B   |   5120 KiB |  99999 B   |
|---------------------------------------------------------------------------|
| Active memory         |      5 B   |   1023 B   |   5120 KiB |  99999 B   |
|---------------------------------------------------------------------------|
| Requested memory      |      5 B   |   1023 B   |   5120 KiB |  99999 B   |
|---------------------------------------------------------------------------|
| GPU reserved memory   |  11773 MiB |  32768 GiB |   4096 PiB |      0 B   |
|---------------------------------------------------------------------------|
| Non-releasable memory |  11773 MiB |  32768 GiB |   4096 PiB |      0 B   |
|---------------------------------------------------------------------------|
| Allocations           |       5    |    1023    |    5242 K  |   99999    |
|---------------------------------------------------------------------------|
| Active allocs         |       5    |    1023    |    5242 K  |   99999    |
|---------------------------------------------------------------------------|
| GPU reserved segments |   12345 M  | 35184372 M  | 4611686018427 M  |       0    |
|---------------------------------------------------------------------------|
| Non-releasable allocs |   12345 M  | 35184372 M  | 4611686018427 M  |       0    |
|---------------------------------------------------------------------------|
| Oversize allocations  |   12345 M  | 35184372 M  | 4611686018427 M  |       0    |
|---------------------------------------------------------------------------|
| Oversize GPU segments |       5    |    1023    |    5242 K  |   99999    |
|===========================================================================|
)");
}

TEST(MemorySummary, PoolsHaveTheUnitOfTheirSum) {
  const std::string text = write_memory_summary(numbered());
  for (const char* line : {"| Allocated memory      |      5 B   |   1023 B   |   5120 KiB |  99999 B   |\n",
                           "|       from large pool |      0 MiB |      0 GiB |      0 PiB |  99999 B   |\n",
                           "|       from small pool |  11773 MiB |  32768 GiB |   4096 PiB |      0 B   |\n",
                           "| Allocations           |       5    |    1023    |    5242 K  |   99999    |\n",
                           "| GPU reserved segments |   12345 M  | 35184372 M  | 4611686018427 M  |       0    |\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(MemorySummary, WhatIsNotKnownIsADash) {
  const std::string text = write_memory_summary(AllocatorStats{});
  EXPECT_NE(text.find("|            CUDA OOMs: -            |        cudaMalloc retries: -         |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| Allocated memory      |      -     |      -     |      -     |      -     |\n"),
            std::string::npos);
  EXPECT_NE(text.find("| Allocations           |       -    |       -    |       -    |       -    |\n"),
            std::string::npos);
}

TEST(MemorySummary, JsonHasTorchsKeysAndNullForUnknown) {
  AllocatorStats stats;
  stats.of(AllocatorMetric::kReservedBytes, StatPool::kAll).current = 7;
  const nlohmann::json json = nlohmann::json::parse(write_memory_stats_json(stats));
  EXPECT_EQ(json.size(), 121U);
  EXPECT_EQ(json["reserved_bytes.all.current"], 7);
  EXPECT_TRUE(json["num_ooms"].is_null());
}

}  // namespace
}  // namespace stepscope

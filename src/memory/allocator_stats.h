// torch.cuda.memory_stats of a snapshot: every key that it has, and for each whether a snapshot can know it.
//
// What is held now stands in the segments. Peaks and totals since the start are known only where the history reaches
// back to an allocator that held nothing: then they are counted from it, else they are missing, never 0. Retries, waits
// for all streams, and how much was inactive but split before the end are never in a snapshot. Torch counts from the
// start of the process or the last reset; a history that began later, when all had been given back, looks like the
// start.
//
// Pools: small holds blocks of up to 1 MiB, large the rest. Expandable segments are no `segment`, and not counted in
// inactive_split, as in torch. Definitions: docs/glossary.md, "allocated, reserved".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/facts.h"
#include "memory/snapshot.h"

namespace stepscope {

struct AllocatorStat {
  std::optional<std::int64_t> current, peak, allocated, freed;
};

// In torch's order.
enum class AllocatorMetric : std::uint8_t {
  kAllocation,
  kSegment,
  kActive,
  kInactiveSplit,
  kAllocatedBytes,
  kReservedBytes,
  kActiveBytes,
  kInactiveSplitBytes,
  kRequestedBytes,
};
inline constexpr std::size_t kAllocatorMetricCount = 9;
enum class StatPool : std::uint8_t { kAll, kLarge, kSmall };
inline constexpr std::size_t kStatPoolCount = 3;

struct AllocatorStats {
  std::int64_t device_number = 0;
  bool is_whole = false;  // the history is the whole life
  std::array<std::array<AllocatorStat, kStatPoolCount>, kAllocatorMetricCount> metrics{};
  AllocatorStat oversize_allocations, oversize_segments;
  std::optional<std::int64_t> alloc_retry_count, oom_count, device_alloc_count, device_free_count,
      sync_all_streams_count;

  [[nodiscard]] const AllocatorStat& of(AllocatorMetric metric, StatPool pool = StatPool::kAll) const {
    return metrics[static_cast<std::size_t>(metric)][static_cast<std::size_t>(pool)];
  }
  [[nodiscard]] AllocatorStat& of(AllocatorMetric metric, StatPool pool) {
    return metrics[static_cast<std::size_t>(metric)][static_cast<std::size_t>(pool)];
  }
};

[[nodiscard]] AllocatorStats compute_allocator_stats(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                     SnapshotDeviceId device);

// torch's keys ("allocated_bytes.all.peak", "num_ooms"), by name, as memory_stats() returns them; missing: unknown.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<std::int64_t>>> list_allocator_stats(
    const AllocatorStats& stats);

}  // namespace stepscope

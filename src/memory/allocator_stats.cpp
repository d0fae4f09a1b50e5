// One pass over the segments for what is held now, and, where the history is whole, one over the entries for the rest.
#include "memory/allocator_stats.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace stepscope {
namespace {

constexpr std::int64_t kMostSmallBytes = std::int64_t{1} << 20;     // kSmallSize of the allocator
constexpr std::int64_t kSmallSegmentBytes = std::int64_t{2} << 20;  // kSmallBuffer; no large one is as small

constexpr std::array<std::string_view, kAllocatorMetricCount> kMetricKeys = {
    "allocation",      "segment",        "active",       "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
    "requested_bytes"};
constexpr std::array<std::string_view, kStatPoolCount> kPoolKeys = {"all", "large_pool", "small_pool"};

class StatsBuilder {
 public:
  StatsBuilder(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device)
      : snapshot_(snapshot), facts_(facts), device_(device) {}

  AllocatorStats build() {
    stats_.device_number = snapshot_.devices.number[device_];
    stats_.is_whole = facts_.devices[device_].is_whole_life && facts_.devices[device_].has_history;
    if (stats_.is_whole) count_history();
    count_now();
    count_oversize();
    return stats_;
  }

 private:
  void change(AllocatorMetric metric, StatPool pool, std::int64_t by) {
    for (const StatPool each : {StatPool::kAll, pool}) {
      AllocatorStat& stat = stats_.of(metric, each);
      stat.current = stat.current.value_or(0) + by;
      stat.peak = std::max(stat.peak.value_or(0), *stat.current);
      (by > 0 ? stat.allocated : stat.freed) = (by > 0 ? stat.allocated : stat.freed).value_or(0) + std::abs(by);
    }
  }
  void start(AllocatorMetric metric) {
    for (const StatPool pool : {StatPool::kAll, StatPool::kLarge, StatPool::kSmall})
      stats_.of(metric, pool) = {0, 0, 0, 0};
  }

  void forget(AllocatorMetric metric) {
    for (const StatPool pool : {StatPool::kAll, StatPool::kLarge, StatPool::kSmall}) stats_.of(metric, pool) = {};
  }

  static StatPool pool_of(std::int64_t size_bytes) {
    return size_bytes <= kMostSmallBytes ? StatPool::kSmall : StatPool::kLarge;
  }
  static StatPool pool_of_segment(std::int64_t size_bytes) {
    return size_bytes <= kSmallSegmentBytes ? StatPool::kSmall : StatPool::kLarge;
  }

  void count_history() {
    for (const AllocatorMetric metric :
         {AllocatorMetric::kAllocation, AllocatorMetric::kSegment, AllocatorMetric::kActive,
          AllocatorMetric::kAllocatedBytes, AllocatorMetric::kReservedBytes, AllocatorMetric::kActiveBytes,
          AllocatorMetric::kRequestedBytes}) {
      start(metric);
    }
    const IdRange<SnapshotEntryId> entries = snapshot_.devices.entries[device_];
    std::vector<AllocationId> taken(entries.size()), let_go(entries.size()), given_back(entries.size());
    const Allocations& allocations = facts_.allocations;
    for (const AllocationId id : facts_.devices[device_].allocations.ids()) {
      const auto mark = [&](std::vector<AllocationId>& where, SnapshotEntryId entry) {
        if (entry.has_value()) where[entry.value - entries.begin] = id;
      };
      mark(taken, allocations.alloc_entry[id]);
      mark(let_go, allocations.free_requested_entry[id]);
      mark(given_back, allocations.free_completed_entry[id]);
    }
    std::int64_t ooms = 0;
    bool has_mapped = false;
    for (const SnapshotEntryId entry : entries.ids()) {
      const std::size_t at = entry.value - entries.begin;
      if (taken[at].has_value()) take(taken[at]);
      if (let_go[at].has_value()) let_go_of(let_go[at]);
      if (given_back[at].has_value()) give_back(given_back[at]);
      count_segment(entry, has_mapped);
      ooms += snapshot_.entries.action[entry] == AllocatorAction::kOom ? 1 : 0;
    }
    stats_.oom_count = ooms;
    if (facts_.devices[device_].estimated_size_count > 0) {
      forget(AllocatorMetric::kAllocatedBytes);
      forget(AllocatorMetric::kActiveBytes);
    }
    // What torch counts when it maps and unmaps pages is not known here.
    if (!has_mapped) {
      stats_.device_alloc_count = stats_.of(AllocatorMetric::kSegment, StatPool::kAll).allocated;
      stats_.device_free_count = stats_.of(AllocatorMetric::kSegment, StatPool::kAll).freed;
    }
  }

  void take(AllocationId id) {
    const std::int64_t size = facts_.allocations.size_bytes[id];
    const StatPool pool = pool_of(size);
    change(AllocatorMetric::kAllocation, pool, 1);
    change(AllocatorMetric::kAllocatedBytes, pool, size);
    change(AllocatorMetric::kActive, pool, 1);
    change(AllocatorMetric::kActiveBytes, pool, size);
    change(AllocatorMetric::kRequestedBytes, pool, facts_.allocations.requested_bytes[id]);
  }
  void let_go_of(AllocationId id) {
    const std::int64_t size = facts_.allocations.size_bytes[id];
    change(AllocatorMetric::kAllocation, pool_of(size), -1);
    change(AllocatorMetric::kAllocatedBytes, pool_of(size), -size);
  }
  void give_back(AllocationId id) {
    const std::int64_t size = facts_.allocations.size_bytes[id];
    change(AllocatorMetric::kActive, pool_of(size), -1);
    change(AllocatorMetric::kActiveBytes, pool_of(size), -size);
    change(AllocatorMetric::kRequestedBytes, pool_of(size), -facts_.allocations.requested_bytes[id]);
  }

  void count_segment(SnapshotEntryId entry, bool& has_mapped) {
    const std::int64_t size = snapshot_.entries.size_bytes[entry];
    const StatPool pool = pool_of_segment(size);
    switch (snapshot_.entries.action[entry]) {
      case AllocatorAction::kSegmentAlloc:
        change(AllocatorMetric::kSegment, pool, 1);
        return change(AllocatorMetric::kReservedBytes, pool, size);
      case AllocatorAction::kSegmentFree:
        change(AllocatorMetric::kSegment, pool, -1);
        return change(AllocatorMetric::kReservedBytes, pool, -size);
      case AllocatorAction::kSegmentMap:
      case AllocatorAction::kSegmentUnmap: {
        has_mapped = true;
        const bool is_map = snapshot_.entries.action[entry] == AllocatorAction::kSegmentMap;
        return change(AllocatorMetric::kReservedBytes, pool, is_map ? size : -size);
      }
      default:
        return;
    }
  }

  // The segments say it themselves, and say it right where a history is not whole.
  void count_now() {
    std::array<std::array<std::int64_t, kStatPoolCount>, kAllocatorMetricCount> now{};
    bool knows_requested = true;
    bool knows_counts = true;  // else only the sum of some allocations is
    for (const SnapshotSegmentId id : snapshot_.devices.segments[device_].ids())
      count_segment_now(id, now, knows_requested, knows_counts);
    for (std::size_t metric = 0; metric < kAllocatorMetricCount; ++metric) {
      const auto kind = static_cast<AllocatorMetric>(metric);
      if (kind == AllocatorMetric::kRequestedBytes && !knows_requested) continue;
      if ((kind == AllocatorMetric::kAllocation || kind == AllocatorMetric::kActive) && !knows_counts) continue;
      for (std::size_t pool = 0; pool < kStatPoolCount; ++pool)
        stats_.metrics[metric][pool].current = now[metric][pool];
    }
  }

  void count_segment_now(SnapshotSegmentId id,
                         std::array<std::array<std::int64_t, kStatPoolCount>, kAllocatorMetricCount>& now,
                         bool& knows_requested, bool& knows_counts) const {
    const SnapshotSegments& segments = snapshot_.segments;
    const auto pool = static_cast<std::size_t>(segments.is_small[id] != 0 ? StatPool::kSmall : StatPool::kLarge);
    const auto add = [&](AllocatorMetric metric, std::int64_t bytes) {
      auto& pools = now[static_cast<std::size_t>(metric)];
      pools[0] += bytes;
      pools[pool] += bytes;
    };
    const bool is_expandable = segments.is_expandable[id] != 0;
    add(AllocatorMetric::kSegment, is_expandable ? 0 : 1);
    add(AllocatorMetric::kReservedBytes, segments.total_bytes[id]);
    const IdRange<SnapshotBlockId> blocks = segments.blocks[id];
    for (const SnapshotBlockId block : blocks.ids()) {
      const std::int64_t size = snapshot_.blocks.size_bytes[block];
      if (snapshot_.blocks.state[block] == BlockState::kInactive) {
        if (is_expandable || blocks.size() < 2) continue;
        add(AllocatorMetric::kInactiveSplit, 1);
        add(AllocatorMetric::kInactiveSplitBytes, size);
        continue;
      }
      knows_counts = knows_counts && snapshot_.blocks.is_sum[block] == 0;
      add(AllocatorMetric::kActive, 1);
      add(AllocatorMetric::kActiveBytes, size);
      knows_requested = knows_requested && snapshot_.blocks.requested_bytes[block].has_value();
      add(AllocatorMetric::kRequestedBytes, snapshot_.blocks.requested_bytes[block].value_or(0));
      if (snapshot_.blocks.state[block] != BlockState::kActiveAllocated) continue;
      add(AllocatorMetric::kAllocation, 1);
      add(AllocatorMetric::kAllocatedBytes, size);
    }
  }

  // Blocks and segments as large as max_split_size. Without a limit there are none, ever.
  void count_oversize() {
    if (!snapshot_.settings.is_recorded) return;
    const MaybeInt limit = snapshot_.settings.max_split_size_bytes;
    if (!limit.has_value()) {
      stats_.oversize_allocations = stats_.oversize_segments = {0, 0, 0, 0};
      return;
    }
    std::int64_t blocks = 0, segments = 0;
    for (const SnapshotSegmentId id : snapshot_.devices.segments[device_].ids()) {
      segments += snapshot_.segments.total_bytes[id] >= limit.value() ? 1 : 0;
      for (const SnapshotBlockId block : snapshot_.segments.blocks[id].ids()) {
        const bool is_held = snapshot_.blocks.state[block] == BlockState::kActiveAllocated;
        blocks += is_held && snapshot_.blocks.size_bytes[block] >= limit.value() ? 1 : 0;
      }
    }
    stats_.oversize_allocations.current = blocks;
    stats_.oversize_segments.current = segments;
  }

  const MemorySnapshot& snapshot_;
  const MemoryFacts& facts_;
  SnapshotDeviceId device_;
  AllocatorStats stats_;
};

}  // namespace

AllocatorStats compute_allocator_stats(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                       SnapshotDeviceId device) {
  return StatsBuilder(snapshot, facts, device).build();
}

std::vector<std::pair<std::string, std::optional<std::int64_t>>> list_allocator_stats(const AllocatorStats& stats) {
  std::vector<std::pair<std::string, std::optional<std::int64_t>>> out;
  const auto add = [&](const std::string& prefix, const AllocatorStat& stat) {
    out.emplace_back(prefix + ".current", stat.current);
    out.emplace_back(prefix + ".peak", stat.peak);
    out.emplace_back(prefix + ".allocated", stat.allocated);
    out.emplace_back(prefix + ".freed", stat.freed);
  };
  for (std::size_t metric = 0; metric < kAllocatorMetricCount; ++metric) {
    for (std::size_t pool = 0; pool < kStatPoolCount; ++pool) {
      std::string prefix(kMetricKeys[metric]);
      prefix += '.';
      prefix += kPoolKeys[pool];
      add(prefix, stats.metrics[metric][pool]);
    }
  }
  add("oversize_allocations", stats.oversize_allocations);
  add("oversize_segments", stats.oversize_segments);
  out.emplace_back("num_alloc_retries", stats.alloc_retry_count);
  out.emplace_back("num_ooms", stats.oom_count);
  out.emplace_back("num_device_alloc", stats.device_alloc_count);
  out.emplace_back("num_device_free", stats.device_free_count);
  out.emplace_back("num_sync_all_streams", stats.sync_all_streams_count);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace stepscope

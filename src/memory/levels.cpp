// Changes are scattered into an array over the device's moments and summed up: no sorting, one pass a level.
#include "memory/levels.h"

#include <algorithm>

namespace stepscope {
namespace {

class LevelSum {
 public:
  explicit LevelSum(IdRange<SnapshotEntryId> entries) : entries_(entries), level_(entries.size() + 1, 0) {}

  // The empty entry: before the history.
  void add_from(SnapshotEntryId entry, std::int64_t bytes) { add(entry, bytes); }
  // The empty entry: never.
  void remove_from(SnapshotEntryId entry, std::int64_t bytes) {
    if (entry.has_value()) add(entry, -bytes);
  }
  std::vector<std::int64_t> run() {
    std::int64_t sum = 0;
    for (std::int64_t& each : level_) each = sum = add_wrapping(sum, each);
    return std::move(level_);
  }

 private:
  void add(SnapshotEntryId entry, std::int64_t bytes) {
    std::int64_t& change = level_[entry.has_value() ? entry.value - entries_.begin + 1 : 0];
    change = add_wrapping(change, bytes);
  }
  IdRange<SnapshotEntryId> entries_;
  std::vector<std::int64_t> level_;
};

std::int64_t reserved_change(AllocatorAction action, std::int64_t size_bytes) {
  switch (action) {
    case AllocatorAction::kSegmentAlloc:
    case AllocatorAction::kSegmentMap:
      return size_bytes;
    case AllocatorAction::kSegmentFree:
    case AllocatorAction::kSegmentUnmap:
      return -size_bytes;
    default:
      return 0;
  }
}

std::vector<std::int64_t> sum_reserved(const MemorySnapshot& snapshot, SnapshotDeviceId device) {
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  std::vector<std::int64_t> level(entries.size() + 1, 0);
  std::int64_t sum = 0;
  std::int64_t lowest = 0;
  std::size_t moment = 0;
  for (const SnapshotEntryId entry : entries.ids()) {
    sum = add_wrapping(sum, reserved_change(snapshot.entries.action[entry], snapshot.entries.size_bytes[entry]));
    lowest = std::min(lowest, sum);
    level[++moment] = sum;
  }
  std::int64_t held = 0;
  for (const SnapshotSegmentId segment : snapshot.devices.segments[device].ids()) {
    held = add_wrapping(held, snapshot.segments.total_bytes[segment]);
  }
  // A snapshot of one pool, or of traces alone, has too few segments: what was given back must have been held.
  const std::int64_t start = std::max(subtract_wrapping(held, sum), subtract_wrapping(0, lowest));
  for (std::int64_t& each : level) each = add_wrapping(each, start);
  return level;
}

}  // namespace

std::vector<std::int64_t> sum_level(const MemorySnapshot& snapshot, const Allocations& allocations,
                                    IdRange<AllocationId> rows, SnapshotDeviceId device, MemoryLevelKind kind) {
  if (kind == MemoryLevelKind::kReserved) return sum_reserved(snapshot, device);
  const bool is_requested = kind == MemoryLevelKind::kRequested;
  LevelSum level(snapshot.devices.entries[device]);
  for (const AllocationId row : rows.ids()) {
    const std::int64_t bytes = is_requested ? allocations.requested_bytes[row] : allocations.size_bytes[row];
    SnapshotEntryId end = allocations.free_completed_entry[row];
    if (kind == MemoryLevelKind::kAllocated) {
      if (allocations.is_free_pending_at_start[row] != 0) continue;
      if (allocations.free_requested_entry[row].has_value()) end = allocations.free_requested_entry[row];
    }
    level.add_from(allocations.alloc_entry[row], bytes);
    level.remove_from(end, bytes);
  }
  return level.run();
}

LevelFacts summarize_level(const std::vector<std::int64_t>& level, IdRange<SnapshotEntryId> entries) {
  LevelFacts facts;
  facts.start_bytes = level.front();
  facts.end_bytes = level.back();
  const auto highest = std::max_element(level.begin(), level.end());
  facts.peak_bytes = *highest;
  const auto moment = static_cast<std::size_t>(highest - level.begin());
  if (moment > 0) facts.peak_entry = SnapshotEntryId(entries.begin + moment - 1);
  return facts;
}

std::vector<std::int64_t> compute_level(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                        SnapshotDeviceId device, MemoryLevelKind kind) {
  return sum_level(snapshot, facts.allocations, facts.devices[device].allocations, device, kind);
}

}  // namespace stepscope

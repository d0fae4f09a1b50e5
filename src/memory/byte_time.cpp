// Bytes times the time they were held: what keeps memory busy, as a peak does not show.
#include <algorithm>

#include "memory/grouping.h"
#include "memory/levels.h"

namespace stepscope {
namespace {

constexpr double kMicrosecondsPerSecond = 1e6;

MaybeInt first_time(const MemorySnapshot& snapshot, IdRange<SnapshotEntryId> entries) {
  for (const SnapshotEntryId entry : entries.ids()) {
    if (snapshot.entries.time_us[entry].has_value()) return snapshot.entries.time_us[entry];
  }
  return {};
}

MaybeInt last_time(const MemorySnapshot& snapshot, IdRange<SnapshotEntryId> entries) {
  for (std::uint32_t at = entries.end; at > entries.begin; --at) {
    const MaybeInt time = snapshot.entries.time_us[SnapshotEntryId(at - 1)];
    if (time.has_value()) return time;
  }
  return {};
}

}  // namespace

std::vector<ByteTimeGroup> group_byte_time(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                           SnapshotDeviceId device, LiveGrouping by) {
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  const MaybeInt begin = first_time(snapshot, entries);
  const MaybeInt end = last_time(snapshot, entries);
  if (!begin.has_value()) return {};
  const auto time_of = [&](SnapshotEntryId entry, MaybeInt otherwise) {
    return entry.has_value() ? snapshot.entries.time_us[entry].value_or(otherwise.value()) : otherwise.value();
  };
  AllocationGroups groups(snapshot, facts, by);
  std::vector<ByteTimeGroup> sums;
  for (const AllocationId row : facts.devices[device].allocations.ids()) {
    const std::uint32_t group = groups.find(row);
    if (group >= sums.size()) sums.push_back({groups.name(group), 0, 0, 0});
    const std::int64_t from = time_of(facts.allocations.alloc_entry[row], begin);
    const std::int64_t to = time_of(facts.allocations.free_completed_entry[row], end);
    const std::int64_t bytes = facts.allocations.requested_bytes[row];
    // Clocks of threads differ by a microsecond: a free may seem to come first.
    const double held_us = std::max(static_cast<double>(to) - static_cast<double>(from), 0.0);
    sums[group].byte_seconds += static_cast<double>(bytes) * held_us / kMicrosecondsPerSecond;
    sums[group].bytes = add_wrapping(sums[group].bytes, bytes);
    sums[group].count = add_counts(sums[group].count, count_of(facts.allocations, row));
  }
  std::sort(sums.begin(), sums.end(), [](const ByteTimeGroup& a, const ByteTimeGroup& b) {
    return a.byte_seconds != b.byte_seconds ? a.byte_seconds > b.byte_seconds : a.name < b.name;
  });
  return sums;
}

}  // namespace stepscope

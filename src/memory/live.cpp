// Live sets: one pass over the device's allocations, whose rows are in the order in which they were made.
#include "memory/facts.h"

namespace stepscope {

std::vector<AllocationId> find_live(const MemorySnapshot& snapshot, const MemoryFacts& facts, SnapshotDeviceId device,
                                    std::size_t moment) {
  const Allocations& allocations = facts.allocations;
  const std::size_t next_entry = snapshot.devices.entries[device].begin + moment;  // the first not yet done
  std::vector<AllocationId> live;
  for (const AllocationId row : facts.devices[device].allocations.ids()) {
    const SnapshotEntryId made = allocations.alloc_entry[row];
    if (made.has_value() && made.value >= next_entry) break;
    const SnapshotEntryId gone = allocations.free_completed_entry[row];
    if (!gone.has_value() || gone.value >= next_entry) live.push_back(row);
  }
  return live;
}

std::vector<AllocationId> find_changing(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                        SnapshotDeviceId device, std::size_t moment) {
  std::vector<AllocationId> live = find_live(snapshot, facts, device, moment);
  std::erase_if(live, [&](AllocationId row) { return facts.allocations.is_sum[row] != 0; });
  return live;
}

}  // namespace stepscope

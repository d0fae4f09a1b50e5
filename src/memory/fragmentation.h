// Free pieces of what an allocator holds, and the out-of-memory events with what they could have used.
#pragma once

#include <vector>

#include "memory/facts.h"

namespace stepscope {

// Fills fragmentation and free_in_private_pools_bytes: as the segments were when the snapshot was written.
void measure_fragmentation(const MemorySnapshot& snapshot, DeviceMemoryFacts& device);

// The oom entries of the device. `reserved`, `allocated`: the levels at its moments.
[[nodiscard]] std::vector<OomFacts> find_ooms(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                              const std::vector<std::int64_t>& reserved,
                                              const std::vector<std::int64_t>& allocated);

}  // namespace stepscope

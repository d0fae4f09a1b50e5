// A replay under the recorded settings: each request answered by the re-simulation, compared with what was recorded.
//
// What the real allocator took from the device and gave back is played as recorded (how much the device had left, and
// what a cap was, is not in a recording); where the re-simulation wants something else there, that is a mismatch. At
// the end all blocks live in the segments have to have the recorded sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/allocator_requests.h"
#include "memory/allocator_start.h"

namespace stepscope {

struct Replay {
  ReplayProof proof;
  std::vector<std::int64_t> block_bytes;  // by entry within the device; 0: none, or older than the history
};

[[nodiscard]] Replay replay_requests(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                     const AllocatorConfig& config, const AllocatorRequests& requests);

}  // namespace stepscope

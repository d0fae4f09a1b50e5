// The recorded requests under any settings and capacity, as numbers. Built once for many settings.
//
// Under the recorded settings the run starts from the recorded state. Under others that state would have been another
// one; the blocks older than the history are then allocated first, in the order of their addresses, because the order
// of their requests is lost.
#pragma once

#include <optional>
#include <vector>

#include "memory/allocator_requests.h"
#include "memory/allocator_start.h"

namespace stepscope {

// How a capacity refuses.
enum class CapacityKind : std::uint8_t {
  kCap,     // set_per_process_memory_fraction: by the size of the segment asked for
  kDevice,  // the device has no more: by what would really be taken; no garbage collection without a cap
};

class AllocatorSimulation {
 public:
  AllocatorSimulation(const MemorySnapshot& snapshot, SnapshotDeviceId device);

  [[nodiscard]] AllocatorRun run(const AllocatorConfig& config, std::optional<std::int64_t> capacity_bytes) const;
  [[nodiscard]] const AllocatorConfig& recorded_config() const { return recorded_config_; }
  [[nodiscard]] const AllocatorRequests& requests() const { return requests_; }
  [[nodiscard]] CapacityKind capacity_kind() const { return capacity_kind_; }
  // Bytes and address of each segment of the recording, in the order in which they were taken.
  [[nodiscard]] const std::vector<std::pair<std::int64_t, std::uint64_t>>& taken_segments() const {
    return taken_segments_;
  }

 private:
  [[nodiscard]] AllocatorRun run_caching(const AllocatorConfig& config,
                                         std::optional<std::int64_t> capacity_bytes) const;
  [[nodiscard]] AllocatorRun run_uncached(std::optional<std::int64_t> capacity_bytes) const;

  AllocatorConfig recorded_config_;
  AllocatorRequests requests_;
  std::optional<std::vector<StartSegment>> start_;  // missing: the recording contradicts itself
  std::vector<std::pair<std::int64_t, std::uint64_t>> taken_segments_;
  std::size_t start_segment_count_ = 0;  // of taken_segments_, those there when the history began
  CapacityKind capacity_kind_ = CapacityKind::kCap;
};

// See allocator_what_if.h.
[[nodiscard]] std::optional<std::int64_t> find_least_capacity(const AllocatorSimulation& simulation,
                                                              const AllocatorConfig& config);

}  // namespace stepscope

// Collectives of one rank, and what it waits inside them. Several ranks together: fleet/fleet_facts.h.
//
// A collective's kernel starts when its rank arrives and spins until the last rank has come; only then do data move.
// So on one rank a long collective is a slow transfer or a wait, and its bytes tell which; with all ranks at hand the
// arrival times tell it exactly (fleet/lateness.cpp). NCCL's bus bandwidth (bytes that cross the wire a second, NVIDIA
// nccl-tests PERFORMANCE.md) makes collectives of different kinds comparable.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/busy.h"

namespace stepscope {

struct CollectiveRun {
  GpuEventId event;
  std::optional<std::size_t> step;    // index into Steps::steps, by host time of its launch, else by GPU time
  std::optional<std::int64_t> bytes;  // of the larger side; missing when sizes were not recorded
  std::optional<double> bus_bytes;    // that cross the wire; likewise
};

// Communication kernels of one device in the window, in order of start.
[[nodiscard]] std::vector<CollectiveRun> find_collectives(const Trace& trace, const GpuTimeline& timeline,
                                                          const KernelClasses& classes, const Steps& steps,
                                                          DeviceId device);

// One rank alone: the part of each collective that its bytes cannot explain at the best bandwidth seen.
struct LoneWaits {
  std::optional<double> best_bus_bytes_per_s;       // missing: no collective with sizes, so nothing is known
  std::vector<DurationNs> exposed_wait_by_step_ns;  // waits under which no compute ran; one for each step
  std::optional<DurationNs> median_exposed_wait_ns;
  std::optional<GpuEventId> longest_wait;  // the collective that waited longest
  DurationNs longest_wait_ns = 0;
};
[[nodiscard]] LoneWaits compute_lone_waits(const Trace& trace, const GpuTimeline& timeline,
                                           const KernelClasses& classes, const Steps& steps, DeviceId device);

}  // namespace stepscope

// Who waits for whom: collectives of one rank, and the same collectives of several ranks on one clock.
//
// A collective's kernel starts when its rank arrives and spins until the last rank has come; only then do data move.
// So on one rank a long collective is a slow transfer or a wait, and its bytes tell which; with all ranks at hand the
// arrival times tell it exactly. NCCL's bus bandwidth (bytes that cross the wire a second, NVIDIA nccl-tests
// PERFORMANCE.md) makes collectives of different kinds comparable.
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

// Several ranks.
struct RankTrace {
  const Trace* trace = nullptr;
  const GpuTimeline* timeline = nullptr;
  const KernelClasses* classes = nullptr;
  const Steps* steps = nullptr;
  DeviceId device;
  std::int64_t rank = 0;  // as the file says, else its place in the list
};

struct StepSpread {
  std::int64_t step_number = 0;
  DurationNs spread_ns = 0;         // last arrival - first arrival, of the collective where this is largest
  DurationNs transfer_ns = 0;       // of that collective: first end - last arrival, >= 0
  std::size_t late_rank = 0;        // index into the ranks given
  std::vector<GpuEventId> events;   // that collective on each rank
  std::vector<TimeNs> arrivals_ns;  // on the first rank's clock
};

struct RankArrivals {
  std::int64_t matched_count = 0;    // collectives found on every rank
  std::int64_t unmatched_count = 0;  // left out: the ranks recorded different numbers of them
  std::vector<StepSpread> steps;     // by step number
  std::optional<DurationNs> median_spread_ns;
  std::optional<std::size_t> late_rank;  // index: the rank most often last
  double late_ratio = 0;                 // in this share of the steps
  // Ends of one collective are nearly simultaneous, so what they differ by from the first rank's, in the median over
  // all collectives, is what the hosts' clocks differ by. One for each rank.
  std::vector<DurationNs> clock_offsets_ns;
  bool clocks_corrected = false;  // an offset was over 100 us, so all were taken off the arrivals
  std::string not_available;      // why there are no steps; empty when there are
};

[[nodiscard]] RankArrivals compute_rank_arrivals(const std::vector<RankTrace>& ranks);

}  // namespace stepscope

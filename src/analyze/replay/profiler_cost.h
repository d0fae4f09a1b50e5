// What the profiler itself cost, edge by edge: the step without it.
//
// Fitted on 28 recordings of two H200 machines against the same loops unrecorded: 2 us an operator, 1 us more each with
// shapes and with memory, 0.5 us a runtime call or Python frame, 2 us a span, 100 us on either side of the profiler's
// own step(); 0.7 us from each gap between kernels. At most 75% of an edge, since recording cannot have cost more than
// the time that there was.
//
// A host that is slow while it is recorded also runs the profiler's hooks slowly, and the recording tells how slow it
// was: the median launch call took 5.5 to 10 us in those recordings. All costs but step()'s are in proportion to it,
// as above at 6 us. That took the mean error of the middle from 4.3 to 3.2% (docs/decisions/unprofiled-step.md).
//
// The guess is a range: the host's own work may be a quarter faster or slower, in another process or unrecorded, and
// what the GPU hides of that does not count. Where only the recorded run is meant, an operator's cost is uncertain by
// 1 us and the host is as fast as it was.
//
// Our own captures cost less: 0.1 us an operator and 0.3 us more with shapes (docs/performance.md, the agent's hooks),
// 2 us a call with CUPTI's record of its kernel (between 0.35 and 4.6 us on one host-bound loop); their Python frames
// are made of stacks when they are read and cost nothing.
#pragma once

#include "analyze/replay/evaluate.h"

namespace stepscope {

inline constexpr DurationNs kKernelGapCostNs = 700;

// What the host takes for its work in each lane, as a multiple of what it took.
using Paces = std::array<double, kLaneCount>;

struct ProfilerCost {
  Lanes op_ns{};  // 0 in lane kRecorded; highest in kLow, whose step is the shortest
  DurationNs call_ns = 500, frame_ns = 500, span_ns = 2'000, step_mark_ns = 100'000;
  DurationNs op_uncertainty_ns = 1'000;
  Paces pace{1, 0.75, 1, 1.25};        // where operators and calls are
  Paces pause_pace{1, 0.75, 1, 1.25};  // in silent stretches of at least 5 ms
  // hook_pace: see measure_hook_pace().
  static ProfilerCost of(const TraceInfo& info, double hook_pace = 1);
  // The recorded process itself: only what recording cost is in doubt.
  [[nodiscard]] ProfilerCost for_this_run() const;
  // Another doubt than all of the host: launching is a quarter faster, long pauses are not. Alike in the lanes.
  [[nodiscard]] ProfilerCost with_fast_launches() const;
};

// The median launch call of the thread's calls over the usual 6 us, within 0.75 and 2 (0.9 to 1.7 were seen); 1 where
// there are too few to tell.
[[nodiscard]] double measure_hook_pace(const ReplayInput& input, Interval host);

using LabelMask = std::uint32_t;
[[nodiscard]] constexpr LabelMask mask_of(HostLabel label) { return LabelMask{1} << static_cast<unsigned>(label); }
inline constexpr LabelMask kAllLabels = (LabelMask{1} << kHostLabelCount) - 1;

// The time of host work in each lane, without the labels in `zero` and with only the share `keep` of the rest.
[[nodiscard]] Lanes weigh_work(const ReplayGraph& graph, const HostWork& work, const ProfilerCost& cost,
                               LabelMask zero = 0, double keep = 1);

// Weights of all edges of the unchanged run.
[[nodiscard]] std::vector<Lanes> weigh_edges(const ReplayGraph& graph, const ProfilerCost& cost);
// The weight of one edge that is not kWork.
[[nodiscard]] Lanes weigh_edge(const ReplayGraph& graph, const ReplayEdge& edge);

}  // namespace stepscope

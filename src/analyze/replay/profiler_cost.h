// What the profiler itself cost, edge by edge: the step without it.
//
// Fitted on 28 recordings of two H200 machines against the same loops unrecorded: 2 us an operator, 1 us more each with
// shapes and with memory, 0.5 us a runtime call or Python frame, 2 us a span, 100 us on either side of the profiler's
// own step(); 0.7 us from each gap between kernels. At most 75% of an edge, since recording cannot have cost more than
// the time that there was. With these the middle is off by 0 to 3% where the GPU is the limit and by 4.2% in the mean
// of all; 1.5 us an operator and nothing for step() gave 6.1%. Where the host is the limit it is off by up to 15%, as
// the hosts themselves move by 20 to 40% between runs. The guess is given as a range: +/- 1 us an operator.
//
// Our own captures cost less: 0.1 us an operator and 0.3 us more with shapes (docs/performance.md, the agent's hooks),
// 2 us a call with CUPTI's record of its kernel (between 0.35 and 4.6 us on one host-bound loop); their Python frames
// are made of stacks when they are read and cost nothing.
#pragma once

#include "analyze/replay/evaluate.h"

namespace stepscope {

inline constexpr DurationNs kKernelGapCostNs = 700;

struct ProfilerCost {
  Lanes op_ns{};  // 0 in lane kRecorded; highest in kLow, whose step is the shortest
  DurationNs call_ns = 500, frame_ns = 500, span_ns = 2'000, step_mark_ns = 100'000;
  static ProfilerCost of(const TraceInfo& info);
};

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

// Lane kRecorded keeps the recorded weights; the other lanes take the profiler's cost away.
#include "analyze/replay/profiler_cost.h"

#include <algorithm>

#include "analyze/replay/call_index.h"
#include "analyze/replay/pauses.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr DurationNs kOpNs = 2'000;
constexpr DurationNs kShapesNs = 1'000;
constexpr DurationNs kMemoryNs = 1'000;
constexpr DurationNs kLeastOpNs = 500;  // recording an operator takes two clock reads and a queue push
constexpr double kLargestShare = 0.75;

// Time of the driver, not of the recorded program: recording does not lengthen it.
constexpr LabelMask kNotReducible = mask_of(HostLabel::kAllocator) | mask_of(HostLabel::kCheckpoint) |
                                    mask_of(HostLabel::kSynchronization) | mask_of(HostLabel::kBlockingCopy);

DurationNs scaled(DurationNs length, double share) {
  return static_cast<DurationNs>(static_cast<double>(length) * share);
}

// The hook itself takes 100 ns of an idle core, 400 with shapes. In a training loop on an H200's host an operator costs
// more, since the hook takes turns in the caches with the program: 350 ns (2,283 operators and 290 launches a step,
// x1.19 in alternating blocks of which CUPTI's calls are x1.10), and 1 to 2 us between processes recorded throughout
// and ones that are not (x1.2 to x1.5), which host noise makes a bound and no measurement. docs/performance.md,
// "Capture".
ProfilerCost of_capture(const TraceInfo& info) {
  constexpr DurationNs kHookNs = 100, kInLoopNs = 400, kMostNs = 1'500;
  constexpr DurationNs kHookShapesNs = 300;
  const DurationNs shapes = info.record_shapes ? kHookShapesNs : 0;
  const DurationNs mid = kInLoopNs + shapes;
  ProfilerCost cost;
  cost.op_ns = {0, kMostNs + shapes, mid, kHookNs + shapes};
  cost.call_ns = 2'000;
  cost.frame_ns = 0;
  cost.span_ns = mid;
  cost.step_mark_ns = 0;
  return cost;
}

// A stretch that host-pause would name: nothing was recorded in it.
bool is_pause(const LabelledWork& part) {
  return part.length_ns >= kLeastPauseNs && (part.label == HostLabel::kPython || part.label == HostLabel::kNoEvent);
}

}  // namespace

ProfilerCost ProfilerCost::of(const TraceInfo& info, double hook_pace) {
  if (info.producer == "capture") return of_capture(info);
  const DurationNs usual = kOpNs + (info.record_shapes ? kShapesNs : 0) + (info.profile_memory ? kMemoryNs : 0);
  ProfilerCost cost;
  for (const Lane lane : {kLow, kMid, kHigh}) cost.op_ns[lane] = scaled(usual, hook_pace);
  for (DurationNs* each : {&cost.call_ns, &cost.frame_ns, &cost.span_ns, &cost.op_uncertainty_ns}) {
    *each = scaled(*each, hook_pace);
  }
  return cost;
}

ProfilerCost ProfilerCost::for_this_run() const {
  ProfilerCost cost = *this;
  cost.pace = cost.pause_pace = {1, 1, 1, 1};
  cost.op_ns[kLow] = std::max(op_ns[kLow], op_ns[kMid] + op_uncertainty_ns);
  cost.op_ns[kHigh] =
      std::min(op_ns[kHigh], std::max(std::min(op_ns[kMid], kLeastOpNs), op_ns[kMid] - op_uncertainty_ns));
  return cost;
}

ProfilerCost ProfilerCost::with_fast_launches() const {
  ProfilerCost cost = *this;
  for (const Lane lane : {kLow, kHigh}) cost.op_ns[lane] = op_ns[kMid];
  for (const Lane lane : {kLow, kMid, kHigh}) {
    cost.pace[lane] = pace[kLow];
    cost.pause_pace[lane] = 1;
  }
  return cost;
}

double measure_hook_pace(const ReplayInput& input, Interval host) {
  constexpr double kUsualNs = 6'000;
  constexpr std::size_t kFewest = 100;  // under that the median is of odd launches: a graph's, a warm-up's
  std::vector<DurationNs> lengths;
  const Calls& calls = input.trace.calls;
  for (const ThreadId thread : input.path.working_threads()) {
    for (const CallId call : calls_of_window(input.trace, thread, host).ids()) {
      if (calls.kind[call] == ApiKind::kLaunch && calls.gpu_count[call] == 1) {
        lengths.push_back(calls.end_ns[call] - calls.start_ns[call]);
      }
    }
  }
  if (lengths.size() < kFewest) return 1;
  return std::clamp(static_cast<double>(median_ns(lengths).value_or(0)) / kUsualNs, 0.75, 2.0);
}

Lanes weigh_work(const ReplayGraph& graph, const HostWork& work, const ProfilerCost& cost, LabelMask zero,
                 double keep) {
  DurationNs left = 0, reducible = 0, paused = 0;
  for (std::uint32_t i = work.label_begin; i < work.label_end; ++i) {
    const LabelledWork& part = graph.labels[i];
    if (zero & mask_of(part.label)) continue;
    left += part.length_ns;
    if (!(kNotReducible & mask_of(part.label))) reducible += part.length_ns;
    if (is_pause(part)) paused += part.length_ns;
  }
  if (left <= 0) return all_lanes(0);
  // Events are spread over the work as its time is.
  const double share = work.length_ns > 0 ? static_cast<double>(left) / static_cast<double>(work.length_ns) : 1;
  const double pause_share = static_cast<double>(paused) / static_cast<double>(left);
  const DurationNs fixed = work.call_count * cost.call_ns + work.frame_count * cost.frame_ns +
                           work.span_count * cost.span_ns + work.step_mark_count * cost.step_mark_ns;
  Lanes weight;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    DurationNs reduction = 0;
    if (lane != kRecorded) {
      reduction = std::min(scaled(work.op_count * cost.op_ns[lane] + fixed, share), scaled(reducible, kLargestShare));
    }
    const double pace = cost.pace[lane] + pause_share * (cost.pause_pace[lane] - cost.pace[lane]);
    weight[lane] = keep * pace == 1 ? left - reduction : scaled(left - reduction, keep * pace);
  }
  return weight;
}

Lanes weigh_edge(const ReplayGraph& graph, const ReplayEdge& edge) {
  Lanes weight = all_lanes(edge.weight_ns + edge.residual_ns);
  DurationNs less = 0;
  if (edge.kind == EdgeKind::kBypass) return all_lanes(kNever);
  if (edge.kind == EdgeKind::kStream) less = std::clamp<DurationNs>(edge.weight_ns, 0, kKernelGapCostNs);
  if (edge.kind == EdgeKind::kDuration) less = graph.ends[UnitEndId(edge.item)].gap_cost_ns;
  for (const Lane lane : {kLow, kMid, kHigh}) weight[lane] -= less;
  return weight;
}

std::vector<Lanes> weigh_edges(const ReplayGraph& graph, const ProfilerCost& cost) {
  std::vector<Lanes> weights(graph.edges.size());
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const ReplayEdge& edge = graph.edges[e];
    weights[e] =
        edge.kind == EdgeKind::kWork ? weigh_work(graph, graph.work[WorkId(edge.item)], cost) : weigh_edge(graph, edge);
  }
  return weights;
}

}  // namespace stepscope

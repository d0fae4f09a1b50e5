// One more replay, with the weights of the narrower doubt.
#include "analyze/this_run.h"

#include <algorithm>
#include <cmath>

#include "analyze/replay/build_graph.h"
#include "analyze/replay/profiler_cost.h"

namespace stepscope {
namespace {

// What the replay itself misses: 3% of the step, and 15% of the part that host work decides (data loading, checkpoints
// and the allocator keep their times).
DurationNs model_error_ns(const WhatIfs& what_ifs, DurationNs step_ns) {
  const auto mid = [&](Transform transform) {
    const WhatIf* what_if = what_ifs.find(transform);
    return what_if == nullptr ? step_ns : what_if->step_unprofiled.mid_ns;
  };
  const DurationNs floor = mid(Transform::kHostZero);
  const DurationNs host = std::max<DurationNs>(0, mid(Transform::kSpecificRemoved) - floor);
  return step_ns * 3 / 100 + std::clamp<DurationNs>(step_ns - floor, 0, host) * 15 / 100;
}

}  // namespace

std::optional<Estimate> estimate_this_run(const Trace& trace, const Facts& facts) {
  if (facts.what_ifs.results.empty() || facts.busy.empty()) return std::nullopt;
  WhatIfOptions options;
  options.device = facts.busy[facts.main_device].device;
  const ReplayInput input{trace,         facts.timeline, facts.launches, facts.steps,
                          facts.classes, facts.path,     facts.waits,    options};
  const ReplayWindow window = choose_replay_window(input);
  if (window.refused) return std::nullopt;
  const BuiltGraph built = build_replay_graph(input, window);
  if (built.refused) return std::nullopt;
  const ProfilerCost cost = ProfilerCost::of(trace.info, measure_hook_pace(input, window.host)).for_this_run();
  std::vector<Lanes> times;
  evaluate(built.graph, weigh_edges(built.graph, cost), times);
  Lanes step = compute_median_step(built.graph, times);
  for (DurationNs& lane : step) lane = std::llround(static_cast<double>(lane) * window.scale);
  const DurationNs error = model_error_ns(facts.what_ifs, step[kMid]);
  return Estimate{std::min({step[kLow], step[kMid] - error, step[kHigh]}), step[kMid],
                  std::max({step[kLow], step[kMid] + error, step[kHigh]})};
}

}  // namespace stepscope

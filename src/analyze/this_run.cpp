// One more replay, with the weights of the narrower doubt.
#include "analyze/this_run.h"

#include <algorithm>

#include "analyze/replay/ask_again.h"
#include "analyze/replay/profiler_cost.h"
#include "analyze/replay/saving.h"

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
  return ask_again(trace, facts, [&](const ReplayInput& input, const ReplayWindow& window, const ReplayGraph& graph) {
    const ProfilerCost cost = ProfilerCost::of(trace.info, measure_hook_pace(input, window.host)).for_this_run();
    std::vector<Lanes> times;
    evaluate(graph, weigh_edges(graph, cost), times);
    Lanes step = compute_median_step(graph, times);
    for (DurationNs& lane : step) lane = scaled_by(lane, window.scale);
    const DurationNs error = model_error_ns(facts.what_ifs, step[kMid]);
    return Estimate{std::min({step[kLow], step[kMid] - error, step[kHigh]}), step[kMid],
                    std::max({step[kLow], step[kMid] + error, step[kHigh]})};
  });
}

}  // namespace stepscope

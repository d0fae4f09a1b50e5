// One more replay, with the weights of the narrower doubt.
#include "analyze/this_run.h"

#include <algorithm>

#include "analyze/replay/build_graph.h"
#include "analyze/replay/profiler_cost.h"

namespace stepscope {

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
  const Lanes step = compute_median_step(built.graph, times);
  return Estimate{std::min({step[kLow], step[kMid], step[kHigh]}), step[kMid],
                  std::max({step[kLow], step[kMid], step[kHigh]})};
}

}  // namespace stepscope

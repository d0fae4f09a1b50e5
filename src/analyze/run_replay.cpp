// The stages of what_if.cpp up to the weights.
#include "analyze/run_replay.h"

#include "analyze/replay/build_graph.h"
#include "analyze/replay/contention.h"
#include "analyze/replay/profiler_cost.h"
#include "analyze/replay/self_check.h"

namespace stepscope {

RunReplay build_run_replay(const Trace& trace, const Facts& facts, std::size_t max_steps) {
  RunReplay run;
  run.refused = facts.what_ifs.self_check.refused;
  if (!run.refused && facts.what_ifs.results.empty()) run.refused = "no GPU event was recorded";
  if (!run.refused && max_steps == 0) run.refused = "no step is kept";
  if (run.refused) return run;
  WhatIfOptions options;
  options.device = facts.busy[facts.main_device].device;
  options.max_steps = std::min(options.max_steps, max_steps);
  options.from_first_step = true;
  const ReplayInput input{trace,         facts.timeline, facts.launches, facts.steps,
                          facts.classes, facts.path,     facts.waits,    options};
  const ReplayWindow window = choose_replay_window(input);
  run.refused = window.refused;
  if (run.refused) return run;
  BuiltGraph built = build_replay_graph(input, window);
  run.refused = std::move(built.refused);
  run.graph = std::move(built.graph);
  // The run's own check may be of other steps.
  if (!run.refused && facts.what_ifs.self_check.first_step > 0) {
    run.refused = check_replay(input, window, run.graph).refused;
  }
  if (run.refused) return run;
  const ProfilerCost cost = ProfilerCost::of(trace.info, measure_hook_pace(input, window.host));
  run.weights = weigh_edges(run.graph, cost);
  run.contention_ns = find_contention(input, run.graph);
  if (cost.op_ns[kMid] > 0) {
    run.cost_uncertainty_ratio =
        static_cast<double>(cost.for_this_run().op_ns[kLow] - cost.op_ns[kMid]) / static_cast<double>(cost.op_ns[kMid]);
  }
  return run;
}

}  // namespace stepscope

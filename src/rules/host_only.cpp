// The training thread's slices, step by step, and the price of what fills them. See host_only.h.
#include "rules/host_only.h"

#include "stats/quantiles.h"

namespace stepscope {

std::vector<std::vector<HostSlice>> host_only_slices(const RuleInput& input) {
  std::vector<std::vector<HostSlice>> by_step;
  const Steps& steps = input.facts.steps;
  if (!input.facts.ledger.is_host_only || !steps.main_thread.has_value()) return by_step;
  for (const Step& step : steps.steps) {
    by_step.emplace_back();
    input.facts.path.slices(steps.main_thread, step.gpu.start_ns, step.gpu.end_ns, by_step.back());
  }
  return by_step;
}

Cost host_only_cost(const RuleInput& input, std::vector<DurationNs> by_step_ns) {
  const DurationNs each = median_ns(by_step_ns).value_or(0);
  return {Estimate{each, each, each}, static_cast<double>(each) / static_cast<double>(recorded_step_ns(input)), {}};
}

}  // namespace stepscope

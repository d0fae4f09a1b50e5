// The training thread's slices, step by step, and the price of what fills them. See host_only.h.
#include "rules/host_only.h"

#include "stats/quantiles.h"

namespace stepscope {
namespace {

// The slices with what lies in `waits` cut out of them and labelled.
std::vector<HostSlice> with_waits(const std::vector<HostSlice>& slices, const IntervalSet& waits) {
  std::vector<HostSlice> out;
  for (const HostSlice& slice : slices) {
    TimeNs at_ns = slice.start_ns;
    for (const Interval& wait : clip(waits, {slice.start_ns, slice.end_ns})) {
      if (wait.start_ns > at_ns) out.push_back({at_ns, wait.start_ns, slice.label, slice.detail});
      out.push_back({wait.start_ns, wait.end_ns, HostLabel::kSynchronization, {}});
      at_ns = wait.end_ns;
    }
    if (at_ns < slice.end_ns) out.push_back({at_ns, slice.end_ns, slice.label, slice.detail});
  }
  return out;
}

}  // namespace

std::vector<std::vector<HostSlice>> host_only_slices(const RuleInput& input) {
  std::vector<std::vector<HostSlice>> by_step;
  const Steps& steps = input.facts.steps;
  if (!input.facts.ledger.is_host_only || !steps.main_thread.has_value()) return by_step;
  for (const Step& step : steps.steps) {
    by_step.emplace_back();
    input.facts.path.slices(steps.main_thread, step.gpu.start_ns, step.gpu.end_ns, by_step.back());
    const IntervalSet& waits = input.facts.host_collectives.waits;
    if (!waits.empty()) by_step.back() = with_waits(by_step.back(), waits);
  }
  return by_step;
}

Cost host_only_cost(const RuleInput& input, std::vector<DurationNs> by_step_ns) {
  const DurationNs each = median_ns(by_step_ns).value_or(0);
  return {Estimate{each, each, each}, static_cast<double>(each) / static_cast<double>(recorded_step_ns(input)), {}};
}

}  // namespace stepscope

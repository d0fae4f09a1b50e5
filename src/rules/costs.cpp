// A gain of under 5 % is given as a saving ("saves about 0.9 of 46.8 ms"), since "1.02 times faster" reads as nothing;
// a larger one as the step that remains. Ranges are given where low and high differ by more than a tenth, of the step
// that remains where they differ by more than the saving. That range is the what-if's own: a saving's ends belong to
// slower and faster hosts, whose steps before differ too, so taking them from one middle gave 4.6 ms for a step whose
// GPU work alone is 15.8.
#include "rules/costs.h"

#include <algorithm>

#include "rules/wording.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

std::string describe_range(const Estimate& estimate) {
  if (estimate.high_ns - estimate.low_ns <= estimate.mid_ns / 10) return {};
  return " (" + format_duration(estimate.low_ns) + " to " + format_duration(estimate.high_ns) + ")";
}

std::string describe_gain(const RuleInput& input, const Cost& cost, std::string_view condition) {
  if (!cost.saving || !cost.ratio || cost.saving->mid_ns <= 0) return {};
  const DurationNs before = best_step_ns(input);
  const DurationNs after = std::max<DurationNs>(0, before - cost.saving->mid_ns);
  std::string out(condition);
  // Where the profiler changed the step, say which step is meant: the report's first line shows the recorded one.
  const bool distorted = static_cast<double>(recorded_step_ns(input)) > 1.1 * static_cast<double>(before);
  const std::string_view which = distorted ? " (without the profiler)" : "";
  if (*cost.ratio < 0.05 || after == 0) {
    out += " a step saves about " + format_duration(cost.saving->mid_ns) + describe_range(*cost.saving) + " of " +
           format_duration(before) + std::string(which) + ", " + format_percent(*cost.ratio) + ".";
    return out;
  }
  const double factor = static_cast<double>(before) / static_cast<double>(after);
  // Said where it is as wide as the saving itself: then the middle alone would promise too much.
  const Estimate& saving = *cost.saving;
  const bool is_vague = saving.high_ns - saving.low_ns > saving.mid_ns;
  out += " the step would take about " + format_duration(after);
  if (is_vague && cost.left)
    out += " (" + format_duration(cost.left->low_ns) + " to " + format_duration(cost.left->high_ns) + ")";
  out += " instead of " + format_duration(before);
  out += std::string(which) + ", ";
  out += factor < 1.2 ? format_percent(*cost.ratio) + " less." : format_times(factor) + " faster.";
  return out;
}

}  // namespace

bool has_steps(const RuleInput& input) { return !input.facts.steps.steps.empty(); }

double step_count(const RuleInput& input) {
  return std::max<double>(1, static_cast<double>(input.facts.steps.steps.size()));
}

DurationNs recorded_step_ns(const RuleInput& input) {
  const Steps& steps = input.facts.steps;
  return std::max<DurationNs>(1, steps.median_ns.value_or(steps.window.length_ns()));
}

DurationNs best_step_ns(const RuleInput& input) {
  const auto unprofiled = input.facts.what_ifs.unprofiled_step();
  return unprofiled && unprofiled->mid_ns > 0 ? unprofiled->mid_ns : recorded_step_ns(input);
}

DurationNs per_step(const RuleInput& input, DurationNs window_total_ns) {
  return window_total_ns / static_cast<DurationNs>(step_count(input));
}

std::string describe_per_step(const RuleInput& input, DurationNs window_total_ns) {
  return format_duration(per_step(input, window_total_ns)) + (has_steps(input) ? " a step" : " in all");
}

double share_of_window(const RuleInput& input, DurationNs window_total_ns) {
  const DurationNs window = input.facts.steps.recorded_ns();
  return window <= 0 ? 0 : static_cast<double>(window_total_ns) / static_cast<double>(window);
}

double typical_busy_ratio(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr) return 0;
  std::vector<double> ratios;
  const auto& steps = input.facts.steps.steps;
  for (std::size_t step = 0; step < std::min(steps.size(), busy->busy_by_step_ns.size()); ++step) {
    if (steps[step].duration_ns() <= 0) continue;
    ratios.push_back(static_cast<double>(busy->busy_by_step_ns[step]) / static_cast<double>(steps[step].duration_ns()));
  }
  return quantile(ratios, 0.5).value_or(share_of_window(input, busy->gpu_busy_ns));
}

std::string describe_busy(const RuleInput& input) {
  const double recorded = typical_busy_ratio(input);
  const std::string of = has_steps(input) ? " of the median step" : " of the time";
  const auto unprofiled = input.facts.what_ifs.unprofiled_step();
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || !unprofiled || unprofiled->mid_ns <= 0) return format_percent(recorded) + of;
  const double real = std::min(
      1.0, static_cast<double>(median_ns(busy->busy_by_step_ns).value_or(0)) / static_cast<double>(unprofiled->mid_ns));
  if (real - recorded <= 0.05) return format_percent(recorded) + of;
  return "about " + format_percent(real) + of + " without the profiler (" + format_percent(recorded) + " as recorded)";
}

double graph_event_ratio(const RuleInput& input) {
  const std::int64_t events = input.facts.ledger.gpu_event_count;
  if (events <= 0 || input.facts.launches.graph_launch_count <= 0) return 0;
  return static_cast<double>(input.facts.launches.graph_event_count) / static_cast<double>(events);
}

bool runs_as_graph(const RuleInput& input) {
  // 99 % and more on recordings with a graph, 0 on the others; a part-compiled model lies between.
  constexpr double kMajority = 0.5;
  return graph_event_ratio(input) >= kMajority;
}

bool median_hides_window(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || !has_steps(input)) return false;
  return share_of_window(input, busy->gpu_busy_ns) < 0.5 * typical_busy_ratio(input);
}

Estimate difference(const Estimate& before, const Estimate& after) {
  Estimate out;
  out.mid_ns = std::max<DurationNs>(0, before.mid_ns - after.mid_ns);
  const DurationNs a = std::max<DurationNs>(0, before.low_ns - after.low_ns);
  const DurationNs b = std::max<DurationNs>(0, before.high_ns - after.high_ns);
  out.low_ns = std::min({a, b, out.mid_ns});
  out.high_ns = std::max({a, b, out.mid_ns});
  return out;
}

Cost cost_of(const RuleInput& input, const Estimate& saving) {
  const auto step = input.facts.what_ifs.unprofiled_step();
  if (!step || step->mid_ns <= 0) return {};
  return {saving, static_cast<double>(saving.mid_ns) / static_cast<double>(step->mid_ns), std::nullopt};
}

Cost cost_of(const RuleInput& input, const Estimate& saving, const WhatIf& replayed) {
  Cost cost = cost_of(input, saving);
  const auto step = input.facts.what_ifs.unprofiled_step();
  if (!cost.saving || !step) return cost;
  const Estimate& after = replayed.step_unprofiled;
  const DurationNs mid_ns = std::max<DurationNs>(0, step->mid_ns - saving.mid_ns);
  const DurationNs claimed_ns = mid_ns - after.mid_ns;
  const auto with_claimed = [&](DurationNs end_ns) {
    return std::clamp<DurationNs>(end_ns + claimed_ns, 0, std::max(step->high_ns, mid_ns));
  };
  cost.left = Estimate{with_claimed(after.low_ns), mid_ns, with_claimed(after.high_ns)};
  return cost;
}

Cost cost_of(const RuleInput& input, Transform transform) {
  const WhatIf* what_if = input.facts.what_ifs.find(transform);
  if (what_if == nullptr) return {};
  return cost_of(input, what_if->applies ? what_if->saving : Estimate{}, *what_if);
}

DurationNs idle_blamed_on(const RuleInput& input, HostLabel label) {
  const DeviceIdle* idle = input.facts.main_idle();
  return idle == nullptr ? 0 : idle->blame_ns[static_cast<std::size_t>(label)];
}

bool durations_are_sound(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  const auto& swallowing = input.facts.timeline.swallowing;
  if (busy == nullptr || swallowing.empty()) return true;
  DurationNs sum = 0;
  for (const GpuEventId id : swallowing) {
    if (input.trace.gpu_events.device[id] != busy->device) continue;
    sum += input.facts.timeline.end_ns[id] - input.trace.gpu_events.start_ns[id];
  }
  return static_cast<double>(sum) <= 0.01 * static_cast<double>(busy->gpu_busy_ns);
}

const Finding* find_found(const RuleInput& input, std::string_view id) {
  const auto at = std::find_if(input.found.begin(), input.found.end(), [&](const Finding& f) { return f.id == id; });
  return at == input.found.end() ? nullptr : &*at;
}

void set_cost(Finding& finding, const RuleInput& input, const Cost& cost, std::string_view condition) {
  finding.saving_ratio = cost.ratio;
  if (cost.saving && has_steps(input)) {
    finding.saving = cost.saving;
    finding.gain = describe_gain(input, cost, condition);
    return;
  }
  const auto& refused = input.facts.what_ifs.self_check.refused;
  finding.evidence.push_back(
      {"No saving is predicted: " + refused.value_or("the file marks no steps to replay") + ".", std::nullopt});
}

}  // namespace stepscope

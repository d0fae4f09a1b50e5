// What a cause costs: ns a step and the share of the step, both without the profiler, from the re-simulation.
//
// When the re-simulation refuses (its self-check failed), findings are still made from recorded shares; they carry
// no saving and say why. A file without steps has shares of its window and no savings: there is no "a step".
#pragma once

#include <optional>
#include <string>

#include "rules/finding.h"

namespace stepscope {

struct Cost {
  std::optional<Estimate> saving;  // ns a step
  std::optional<double> ratio;     // of the step without the profiler
  std::optional<Estimate> left;    // ns, the step that remains; missing where no what-if replays the change
};

[[nodiscard]] bool has_steps(const RuleInput& input);
[[nodiscard]] double step_count(const RuleInput& input);  // at least 1
// The step as recorded: its median, or the whole window when steps are unknown. At least 1 ns.
[[nodiscard]] DurationNs recorded_step_ns(const RuleInput& input);
// The step without the profiler, or as recorded when that is not estimated.
[[nodiscard]] DurationNs best_step_ns(const RuleInput& input);
[[nodiscard]] DurationNs per_step(const RuleInput& input, DurationNs window_total_ns);
// "49.7 ms a step", or "1.2 s in all" where steps are unknown.
[[nodiscard]] std::string describe_per_step(const RuleInput& input, DurationNs window_total_ns);
[[nodiscard]] double share_of_window(const RuleInput& input, DurationNs window_total_ns);

// GPU busy over the step, in the median step: one outlier does not hide what the ordinary step looks like.
[[nodiscard]] double typical_busy_ratio(const RuleInput& input);
// "84 % of the median step", or "about 95 % of the median step without the profiler (81 % as recorded)" where the two
// differ by more than 5 points; "of the time" where there are no steps. The mean over the window may be another number,
// which the report shows above it, so the median is named.
[[nodiscard]] std::string describe_busy(const RuleInput& input);

// Half of the GPU events or more come from graph launches.
[[nodiscard]] bool runs_as_graph(const RuleInput& input);
[[nodiscard]] double graph_event_ratio(const RuleInput& input);

// The mean over the window says something else than the median step: GPU busy is less than half of it, so outliers or
// a warm-up take most of the recorded time. Half is where most of the time is no ordinary step.
[[nodiscard]] bool median_hides_window(const RuleInput& input);

// What the transform saves; both members missing when what-ifs are refused.
[[nodiscard]] Cost cost_of(const RuleInput& input, Transform transform);
[[nodiscard]] Cost cost_of(const RuleInput& input, const Estimate& saving);
// What is left of the what-if's saving when others claim a part: that part stays in the step, which is as much in doubt
// as the what-if's own.
[[nodiscard]] Cost cost_of(const RuleInput& input, const Estimate& saving, const WhatIf& replayed);
[[nodiscard]] Estimate difference(const Estimate& before, const Estimate& after);  // never below 0

// Idle time of the main device in the blame view, over the window; 0 without a device.
[[nodiscard]] DurationNs idle_blamed_on(const RuleInput& input, HostLabel label);

// Are the durations of GPU events sound? False when those that cannot be true (events that swallow later work of
// their stream) are over 1 % of busy time, which is as much as a finding's threshold of 1 % can bear.
[[nodiscard]] bool durations_are_sound(const RuleInput& input);

// The finding made before under this id.
[[nodiscard]] const Finding* find_found(const RuleInput& input, std::string_view id);

// Puts saving, ratio and gain into the finding; `condition` opens the gain's sentence ("With the data ready in time").
// Where nothing can be predicted, adds the sentence of evidence that says why.
void set_cost(Finding& finding, const RuleInput& input, const Cost& cost, std::string_view condition);

}  // namespace stepscope

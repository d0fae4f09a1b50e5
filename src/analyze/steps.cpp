// The sources in order of trust, then the accounts over the steps found.
//
// A name that the user gave is never replaced by a guess: if no span has it, the steps are unknown and the detail says
// so. Detection comes last and is labelled as such, but for one case: marks of the warm-up before a graph
// (detect_graph.cpp).
#include "analyze/steps.h"

#include <algorithm>
#include <array>
#include <limits>

#include "analyze/disturbed_steps.h"
#include "analyze/recorded_windows.h"
#include "analyze/step_boundaries.h"
#include "analyze/step_marks.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

std::optional<StepMarks> find_marks(const Trace& trace, const StepOptions& options) {
  if (!options.span_name.empty()) return find_named_steps(trace, options.span_name);
  std::optional<StepMarks> found = find_profiler_steps(trace);
  if (!found) found = find_numbered_steps(trace);
  const ThreadId main = found ? found->thread : find_launching_thread(trace);
  if (!main.has_value()) return std::nullopt;
  if (!found) found = detect_steps_by_spans(trace, main);
  if (auto by_graph = detect_steps_by_graph(trace, main, found ? &*found : nullptr)) return by_graph;
  return found ? std::move(found) : detect_steps_by_kernels(trace, main);
}

void summarize(Steps& steps) {
  std::vector<DurationNs> durations;
  std::vector<DurationNs> host_spans;
  std::vector<DurationNs> leads;
  for (const Step& step : steps.steps) {
    durations.push_back(step.duration_ns());
    host_spans.push_back(step.host.length_ns());
    leads.push_back(step.gpu.end_ns - step.host.end_ns);
  }
  steps.median_ns = median_ns(durations);
  steps.p10_ns = quantile_ns(durations, 0.1);
  steps.p90_ns = quantile_ns(durations, 0.9);
  steps.host_span_median_ns = median_ns(host_spans);
  steps.host_lead_ns = median_ns(leads);
}

std::optional<std::size_t> last_starting_at_or_before(const std::vector<Step>& steps, TimeNs t, Interval Step::*clock) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), t,
                                      [&](TimeNs time, const Step& step) { return time < (step.*clock).start_ns; });
  if (after == steps.begin()) return std::nullopt;
  return static_cast<std::size_t>(after - steps.begin()) - 1;
}

bool has_one_optimizer_step(const Trace& trace, ThreadId main) {
  if (!main.has_value()) return false;
  const IdRange<SpanId> spans = trace.spans_of_thread[main];
  int count = 0;
  for (const SpanId span : spans.ids()) count += trace.text(trace.spans.name[span]).starts_with("Optimizer.step#");
  return count == 1;
}

}  // namespace

std::string_view step_source_name(StepSource source) {
  constexpr std::array<std::string_view, 7> kNames = {
      "profiler_step", "named_span", "step_number", "detected_spans", "detected_kernels", "optimizer_step", "none"};
  return kNames[static_cast<std::size_t>(source)];
}

std::optional<std::size_t> Steps::find_by_gpu_time(TimeNs t) const {
  const auto at = last_starting_at_or_before(steps, t, &Step::gpu);
  return at && t < steps[*at].gpu.end_ns ? at : std::nullopt;
}

std::optional<std::size_t> Steps::find_by_host_time(TimeNs t) const {
  const auto at = last_starting_at_or_before(steps, t, &Step::host);
  if (!at) return std::nullopt;
  // What the host does between the end of a span and the start of the next one belongs to the step that ended, if the
  // next one follows at once.
  const bool next_follows = *at + 1 < steps.size() && steps[*at + 1].gpu.start_ns == steps[*at].gpu.end_ns;
  return next_follows || t < steps[*at].host.end_ns ? at : std::nullopt;
}

bool Steps::counts_at_gpu_time(TimeNs t) const {
  if (t < window.start_ns || t >= window.end_ns) return false;
  const auto next = std::partition_point(unrecorded.begin(), unrecorded.end(),
                                         [t](const Interval& each) { return each.end_ns <= t; });
  return next == unrecorded.end() || t < next->start_ns;
}

Interval first_to_last_event(const Trace& trace) {
  Interval all{std::numeric_limits<TimeNs>::max(), std::numeric_limits<TimeNs>::min()};
  auto include = [&all](const auto& starts, const auto& ends) {
    for (const TimeNs each : starts.raw()) all.start_ns = std::min(all.start_ns, each);
    for (const TimeNs each : ends.raw()) all.end_ns = std::max(all.end_ns, each);
  };
  include(trace.gpu_events.start_ns, trace.gpu_events.end_ns);
  include(trace.ops.start_ns, trace.ops.end_ns);
  include(trace.spans.start_ns, trace.spans.end_ns);
  include(trace.calls.start_ns, trace.calls.end_ns);
  return all.start_ns <= all.end_ns ? all : Interval{};
}

Steps compute_steps(const Trace& trace, const GpuTimeline& timeline, const Launches& launches,
                    const StepOptions& options) {
  Steps steps;
  if (auto found = find_marks(trace, options)) {
    for (const std::int64_t number : cut_marks_at_windows(trace, found->marks)) found->left_out.push_back(number);
    BoundedSteps bounded = compute_step_boundaries(trace, timeline, launches, std::move(found->marks));
    steps.main_thread = found->thread;
    steps.left_out = std::move(found->left_out);
    steps.left_out.insert(steps.left_out.end(), bounded.left_out.begin(), bounded.left_out.end());
    std::sort(steps.left_out.begin(), steps.left_out.end());
    steps.steps = std::move(bounded.steps);
    leave_out_disturbed_steps(trace, timeline, steps);
    steps.source_detail = std::move(found->detail);
    if (!found->renumbered.empty()) steps.source_detail += ", numbered anew from 0: " + found->renumbered;
    if (!steps.steps.empty()) steps.source = found->source;
  } else {
    steps.main_thread = find_launching_thread(trace);
    if (has_one_optimizer_step(trace, steps.main_thread)) steps.source_detail = kOneStepsEnd;
    if (!options.span_name.empty()) steps.source_detail = "no span is named `" + options.span_name + "`";
  }
  if (steps.steps.empty()) {
    steps.window = first_to_last_event(trace);
    steps.unrecorded = find_between_windows(trace, timeline, steps.window);
    return steps;
  }
  steps.window = {steps.steps.front().gpu.start_ns, steps.steps.back().gpu.end_ns};
  find_gaps(trace, steps);
  summarize(steps);
  return steps;
}

}  // namespace stepscope

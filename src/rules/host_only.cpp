// Sums by name and step, over the rows of one thread. A map by name is enough: a run without a GPU has few rows, and
// only one with an outlier is looked at.
#include "rules/host_only.h"

#include <algorithm>
#include <limits>
#include <map>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

// "batch 17", "evaluate#3" -> "batch", "evaluate".
std::string_view without_number(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end == 0 || end + 1 == name.size()) return name;
  return name[end] == ' ' || name[end] == '#' ? name.substr(0, end) : name;
}

struct NameInSteps {
  std::vector<std::int64_t> by_step_ns;
  Interval longest;  // in the step asked for
  TimeNs counted_until_ns = std::numeric_limits<TimeNs>::min();
};
using NamesInSteps = std::map<std::string_view, NameInSteps>;

struct PartOfStep {
  std::size_t step = 0;
  Interval at;
};

// What `at` is of a step: the part inside the one that it begins in or the next one, whichever has half of it. What
// holds a whole step is no part of it, nor is what lies mostly elsewhere: `main`, an epoch.
std::optional<PartOfStep> find_part(const Steps& all, Interval at) {
  const auto begun = all.find_by_host_time(at.start_ns);
  if (!begun) return std::nullopt;
  const std::vector<Step>& steps = all.steps;
  for (std::size_t step = *begun; step < steps.size() && step <= *begun + 1; ++step) {
    const Interval& host = steps[step].host;
    const bool is_last = step + 1 == steps.size();
    const TimeNs end_ns = is_last ? std::max(host.end_ns, steps[step].gpu.end_ns) : steps[step + 1].host.start_ns;
    const Interval part{std::max(at.start_ns, host.start_ns), std::min(at.end_ns, end_ns)};
    if (part.length_ns() * 2 < at.length_ns()) continue;
    if (at.start_ns <= host.start_ns && at.end_ns >= host.end_ns) return std::nullopt;
    return PartOfStep{step, part};
  }
  return std::nullopt;
}

// Rows of one thread, sorted by start; those of one name that hold each other count once.
template <class Table, class Id>
NamesInSteps sum_by_name(const RuleInput& input, const Table& table, IdRange<Id> rows, std::size_t asked) {
  NamesInSteps names;
  for (const Id row : rows.ids()) {
    const auto part = find_part(input.facts.steps, {table.start_ns[row], table.end_ns[row]});
    if (!part) continue;
    NameInSteps& name = names[without_number(input.trace.text(table.name[row]))];
    name.by_step_ns.resize(input.facts.steps.steps.size());
    const TimeNs from_ns = std::max(part->at.start_ns, name.counted_until_ns);
    name.by_step_ns[part->step] += std::max<DurationNs>(0, part->at.end_ns - from_ns);
    name.counted_until_ns = std::max(name.counted_until_ns, part->at.end_ns);
    if (part->step == asked && part->at.length_ns() > name.longest.length_ns()) name.longest = part->at;
  }
  return names;
}

DurationNs excess_of(const NameInSteps& name, std::size_t step) {
  std::vector<std::int64_t> others = name.by_step_ns;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(step));
  return name.by_step_ns[step] - median_ns(others).value_or(0);
}

std::optional<GrownEvent> most_grown(const NamesInSteps& names, GrownEvent::Kind kind, std::size_t step,
                                     DurationNs excess_ns) {
  DurationNs most = 0;
  for (const auto& [name, in_steps] : names) most = std::max(most, excess_of(in_steps, step));
  if (most == 0 || most * 2 < excess_ns) return std::nullopt;
  std::optional<GrownEvent> best;
  DurationNs shortest = 0;
  for (const auto& [name, in_steps] : names) {
    const DurationNs excess = excess_of(in_steps, step);
    // Where one holds the other the inner one is shorter in this step.
    const DurationNs length = in_steps.by_step_ns[step];
    if (excess < most - most / 10 || (best && length >= shortest)) continue;
    shortest = length;
    best = GrownEvent{std::string(name), kind, false, false, excess, in_steps.longest};
  }
  return best;
}

}  // namespace

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

std::optional<GrownEvent> find_grown_event(const RuleInput& input, std::size_t step, DurationNs excess_ns,
                                           bool with_operators) {
  const Trace& trace = input.trace;
  const ThreadId thread = input.facts.steps.main_thread;
  if (!thread.has_value() || input.facts.steps.steps.size() < 2) return std::nullopt;
  const auto spans = sum_by_name(input, trace.spans, trace.spans_of_thread[thread], step);
  using Kind = GrownEvent::Kind;
  if (auto found = most_grown(spans, Kind::kSpan, step, excess_ns)) {
    const std::uint8_t traits = classify_host_name(found->name);
    found->is_loader = (traits & (kLoaderName | kUserLoaderName)) != 0;
    found->is_checkpoint = (traits & kCheckpointSpanName) != 0;
    return found;
  }
  if (with_operators) {
    const auto operators = sum_by_name(input, trace.ops, trace.ops_of_thread[thread], step);
    if (auto found = most_grown(operators, Kind::kOperator, step, excess_ns)) return found;
  }
  const auto frames = sum_by_name(input, trace.frames, trace.frames_of_thread[thread], step);
  return most_grown(frames, Kind::kFrame, step, excess_ns);
}

}  // namespace stepscope

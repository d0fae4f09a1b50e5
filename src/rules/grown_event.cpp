// Sums by name and step, over the rows of one thread. A map by name is enough: only a recording with an outlier is
// looked at, and once.
#include "rules/grown_event.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

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

struct LaunchedWork {
  TimeNs launch_ns = 0;
  Interval at;  // on the GPU
  std::size_t step = 0;
  OpId op;
};

// By the time of their launch.
std::vector<LaunchedWork> list_launched_work(const RuleInput& input, DeviceId device) {
  const Trace& trace = input.trace;
  std::vector<LaunchedWork> out;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    const CallId call = trace.gpu_events.call[id];
    if (!call.has_value() || !input.facts.timeline.counts(trace, id)) continue;
    const Interval at{trace.gpu_events.start_ns[id], input.facts.timeline.end_ns[id]};
    const auto step = input.facts.steps.find_by_gpu_time(at.start_ns);
    if (step) out.push_back({trace.calls.start_ns[call], at, *step, trace.gpu_events.op[id]});
  }
  std::sort(out.begin(), out.end(),
            [](const LaunchedWork& a, const LaunchedWork& b) { return a.launch_ns < b.launch_ns; });
  return out;
}

void add_work(std::string_view name, const LaunchedWork& work, std::size_t step_count, std::size_t asked,
              NamesInSteps& names) {
  NameInSteps& sum = names[name];
  sum.by_step_ns.resize(step_count);
  sum.by_step_ns[work.step] += work.at.length_ns();
  if (work.step != asked) return;
  if (sum.longest.end_ns == 0) sum.longest = work.at;
  sum.longest = {std::min(sum.longest.start_ns, work.at.start_ns), std::max(sum.longest.end_ns, work.at.end_ns)};
}

// Of each span of the training thread what was launched meanwhile, by whichever thread: it waits for autograd's.
NamesInSteps sum_work_by_span(const RuleInput& input, const std::vector<LaunchedWork>& all, std::size_t asked) {
  const Trace& trace = input.trace;
  const Spans& spans = trace.spans;
  NamesInSteps names;
  std::vector<SpanId> open;
  const IdRange<SpanId> rows = trace.spans_of_thread[input.facts.steps.main_thread];
  auto next = rows.ids().begin();
  for (const LaunchedWork& work : all) {
    for (; next != rows.ids().end() && spans.start_ns[*next] <= work.launch_ns; ++next) {
      if (find_part(input.facts.steps, {spans.start_ns[*next], spans.end_ns[*next]})) open.push_back(*next);
    }
    std::erase_if(open, [&](SpanId span) { return spans.end_ns[span] <= work.launch_ns; });
    std::set<std::string_view> counted;  // spans of one name may hold each other
    for (const SpanId span : open) {
      const std::string_view name = without_number(trace.text(spans.name[span]));
      if (counted.insert(name).second) add_work(name, work, input.facts.steps.steps.size(), asked, names);
    }
  }
  return names;
}

NamesInSteps sum_work_by_operator(const RuleInput& input, const std::vector<LaunchedWork>& all, std::size_t asked) {
  const Ops& ops = input.trace.ops;
  NamesInSteps names;
  for (const LaunchedWork& work : all) {
    OpId outermost = work.op;
    while (outermost.has_value() && ops.parent[outermost].has_value()) outermost = ops.parent[outermost];
    if (!outermost.has_value()) continue;
    add_work(input.trace.text(ops.name[outermost]), work, input.facts.steps.steps.size(), asked, names);
  }
  return names;
}

void drop_what_others_have(NamesInSteps& names, std::size_t step) {
  std::erase_if(names, [&](const auto& each) { return excess_of(each.second, step) < each.second.by_step_ns[step]; });
}

}  // namespace

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

std::optional<GrownEvent> find_added_gpu_work(const RuleInput& input, DeviceId device, std::size_t step,
                                              DurationNs excess_ns) {
  if (!input.facts.steps.main_thread.has_value() || input.facts.steps.steps.size() < 2) return std::nullopt;
  const std::vector<LaunchedWork> all = list_launched_work(input, device);
  NamesInSteps spans = sum_work_by_span(input, all, step);
  drop_what_others_have(spans, step);
  if (auto found = most_grown(spans, GrownEvent::Kind::kSpan, step, excess_ns)) return found;
  NamesInSteps operators = sum_work_by_operator(input, all, step);
  drop_what_others_have(operators, step);
  return most_grown(operators, GrownEvent::Kind::kOperator, step, excess_ns);
}

std::optional<Accumulation> find_accumulation(const RuleInput& input) {
  const Steps& steps = input.facts.steps;
  if (!steps.main_thread.has_value()) return std::nullopt;
  Accumulation out;
  for (const SpanId span : input.trace.spans_of_thread[steps.main_thread].ids()) {
    if (!input.trace.text(input.trace.spans.name[span]).starts_with("Optimizer.step#")) continue;
    const auto step = steps.find_by_host_time(input.trace.spans.start_ns[span]);
    if (step && (out.steps.empty() || out.steps.back() != *step)) out.steps.push_back(*step);
  }
  if (out.steps.size() < 2) return std::nullopt;
  out.every = out.steps[1] - out.steps[0];
  for (std::size_t at = 1; at < out.steps.size(); ++at) {
    if (out.steps[at] - out.steps[at - 1] != out.every) return std::nullopt;
  }
  const bool holds_throughout =
      out.every >= 2 && out.steps.front() < out.every && out.steps.back() + out.every >= steps.steps.size();
  return holds_throughout ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace stepscope

// Steps that the recording names itself: ProfilerStep#N, a span the user asked for, JAX's step_num.
//
// All are spans that match a test. Of several threads that carry such spans (two ranks in one file, a loader that uses
// the same label) the one with most wins, and nested repeats of a label count as one.
#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "analyze/launch_counts.h"
#include "analyze/step_marks.h"

namespace stepscope {
namespace {

constexpr std::string_view kProfilerStepPrefix = "ProfilerStep#";

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

// "train" -> "train", "train#12", "train 12". Gives the number, or nothing when the name does not match.
struct NameMatch {
  bool matches = false;
  std::optional<std::int64_t> number;
};
NameMatch match_name(std::string_view span_name, std::string_view asked) {
  if (!span_name.starts_with(asked)) return {};
  const std::string_view rest = span_name.substr(asked.size());
  if (rest.empty()) return {true, std::nullopt};
  const auto number = whole_number(asked.ends_with('#') ? rest : rest.substr(1));
  const bool numbered = number && (asked.ends_with('#') || rest[0] == '#' || rest[0] == ' ');
  return numbered ? NameMatch{true, number} : NameMatch{};
}

struct Candidate {
  SpanId span;
  std::optional<std::int64_t> number;
};

std::vector<Candidate> of_busiest_thread(const Trace& trace, std::vector<Candidate> candidates) {
  std::vector<std::size_t> count(trace.threads.size(), 0);
  for (const Candidate& each : candidates) ++count[trace.spans.thread[each.span].value];
  const auto busiest = static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin());
  std::erase_if(candidates, [&](const Candidate& each) { return trace.spans.thread[each.span].value != busiest; });
  return candidates;
}

// Numbers are kept when all steps have one and they rise; else positions from 0 take their place, and why is said where
// there was any number to keep.
bool keep_numbers(const std::vector<Candidate>& steps, std::string& renumbered) {
  const auto has_number = [](const Candidate& each) { return each.number.has_value(); };
  if (!std::all_of(steps.begin(), steps.end(), has_number)) {
    if (std::any_of(steps.begin(), steps.end(), has_number)) renumbered = "some have no number";
    return false;
  }
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const std::int64_t before = *steps[i - 1].number, after = *steps[i].number;
    if (before < after) continue;
    renumbered.append("#").append(std::to_string(before)).append(" comes ");
    renumbered += before == after ? "twice" : "before #";
    if (before != after) renumbered += std::to_string(after);
    return false;
  }
  return true;
}

std::optional<StepMarks> to_marks(const Trace& trace, std::vector<Candidate> candidates, StepSource source) {
  if (candidates.empty()) return std::nullopt;
  candidates = of_busiest_thread(trace, std::move(candidates));
  StepMarks found;
  found.source = source;
  found.thread = trace.spans.thread[candidates.front().span];
  std::vector<Candidate> steps;
  for (const Candidate& each : candidates) {
    const Interval host{trace.spans.start_ns[each.span], trace.spans.end_ns[each.span]};
    if (!found.marks.empty() && host.start_ns < found.marks.back().host.end_ns) continue;  // nested or a duplicate
    found.marks.push_back({static_cast<std::int64_t>(found.marks.size()), host, false});
    steps.push_back(each);
  }
  const bool numbered = keep_numbers(steps, found.renumbered);
  for (std::size_t i = 0; numbered && i < steps.size(); ++i) found.marks[i].number = *steps[i].number;
  if (numbered) {
    for (std::size_t i = 0; i + 1 < found.marks.size(); ++i) {
      found.marks[i].ends_alone = found.marks[i + 1].number != found.marks[i].number + 1;
    }
  }
  return found;
}

// match(name) is asked once for each distinct name: a long trace has one span name for each layer, not for each span.
template <class Match>
std::vector<Candidate> spans_that(const Trace& trace, Match&& match) {
  std::unordered_map<StringId, NameMatch> known;
  std::vector<Candidate> found;
  for (const SpanId span : trace.spans.ids().ids()) {
    const StringId name = trace.spans.name[span];
    auto [at, is_new] = known.try_emplace(name);
    if (is_new) at->second = match(trace.text(name));
    if (at->second.matches) found.push_back({span, at->second.number});
  }
  return found;
}

// A span that does not enclose its step (`forward`) still begins it, and the next one's start ends it. One without a
// next one ends with the last thing that its thread did, at most as long after the span as in the other steps; it is
// left out if it did less than each of them, since the recording ended within it.
//
// A tenth of the launches outside decides: a step that reads its loss or copies its batch outside of its span loses
// less by the cut than steps differ.
void complete_ends(const Trace& trace, StepMarks& found) {
  std::vector<Interval> whole;  // steps whose end is known
  DurationNs longest_tail = 0;
  std::int64_t inside = 0, all = 0;
  const LaunchCounts work = LaunchCounts::launches_or_operators_of(trace, found.thread);
  for (std::size_t i = 0; i + 1 < found.marks.size(); ++i) {
    const Interval span = found.marks[i].host;
    if (found.marks[i].ends_alone) continue;
    whole.push_back({span.start_ns, found.marks[i + 1].host.start_ns});
    longest_tail = std::max(longest_tail, whole.back().end_ns - span.end_ns);
    inside += work.count_in(span);
    all += work.count_in(whole.back());
  }
  if ((all - inside) * 10 < all || all == inside) return;
  const std::int64_t least = work.least_in(whole);
  std::vector<StepMark> kept;
  for (std::size_t i = 0; i < found.marks.size(); ++i) {
    StepMark mark = found.marks[i];
    const bool is_last = i + 1 == found.marks.size();
    if (!is_last && !mark.ends_alone) {
      mark.host.end_ns = found.marks[i + 1].host.start_ns;
    } else {
      TimeNs until = mark.host.end_ns + longest_tail;
      if (!is_last) until = std::min(until, found.marks[i + 1].host.start_ns);
      mark.host.end_ns = last_host_event(trace, found.thread, mark.host.end_ns, until);
      if (work.count_in(mark.host) < least) {
        found.left_out.push_back(mark.number);
        if (!kept.empty() && !is_last) kept.back().ends_alone = true;
        continue;
      }
    }
    kept.push_back(mark);
  }
  found.marks = std::move(kept);
}

// step() closes a step and opens the next one, so where the loop ends inside the recorded window a span stays open
// until the profiler stops, over whatever the program does then (it saves, it evaluates). It is no step: almost nothing
// was launched in it.
//
// A tenth of what the least of the other steps does: such a span is rarely quite empty (trainers read the loss once
// more), and a real last step, of a smaller batch, makes the same calls. Steps that do nothing at all may be real (the
// batch was skipped); while they are as many as the others, the last one may be one of them.
void leave_out_open_step(const Trace& trace, StepMarks& found) {
  if (found.marks.size() < 2) return;
  const LaunchCounts launches = LaunchCounts::launches_of(trace);
  const LaunchCounts operators = LaunchCounts::operators_of(trace);
  const auto did_nothing = [&](const LaunchCounts& work) -> std::optional<bool> {
    const std::size_t others = found.marks.size() - 1;
    std::size_t at_work = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < others; ++i) {
      const std::int64_t count = work.count_in(found.marks[i].host);
      if (count == 0) continue;
      ++at_work;
      least = std::min(least, count);
    }
    if (at_work * 2 <= others) return std::nullopt;  // this kind of work says nothing here
    return work.count_in(found.marks.back().host) * 10 < least;
  };
  const std::optional<bool> by_launches = did_nothing(launches), by_operators = did_nothing(operators);
  if (!by_launches && !by_operators) return;
  if (!by_launches.value_or(true) || !by_operators.value_or(true)) return;
  found.left_out.push_back(found.marks.back().number);
  found.marks.pop_back();
}

}  // namespace

std::optional<std::int64_t> profiler_step_number(std::string_view span_name) {
  if (!span_name.starts_with(kProfilerStepPrefix)) return std::nullopt;
  return whole_number(span_name.substr(kProfilerStepPrefix.size()));
}

std::optional<StepMarks> find_profiler_steps(const Trace& trace) {
  auto candidates = spans_that(trace, [](std::string_view name) {
    const auto number = profiler_step_number(name);
    return NameMatch{number.has_value(), number};
  });
  const bool are_heard = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& each) {
    return trace.spans.step_number[each.span].has_value();
  });
  auto found = to_marks(trace, std::move(candidates), StepSource::kProfilerStep);
  if (!found) return found;
  found->detail = "ProfilerStep#N";
  leave_out_open_step(trace, *found);
  if (are_heard) name_heard_steps(trace, *found);
  return found;
}

std::optional<StepMarks> find_named_steps(const Trace& trace, const std::string& name) {
  auto candidates = spans_that(trace, [&](std::string_view each) { return match_name(each, name); });
  auto found = to_marks(trace, std::move(candidates), StepSource::kNamedSpan);
  if (found) {
    found->detail = "span `" + name + "`";
    complete_ends(trace, *found);
  }
  return found;
}

std::optional<StepMarks> find_numbered_steps(const Trace& trace) {
  std::unordered_map<StringId, std::size_t> count;
  for (const SpanId span : trace.spans.ids().ids()) {
    if (trace.spans.step_number[span].has_value()) ++count[trace.spans.name[span]];
  }
  if (count.empty()) return std::nullopt;
  // Ties go to the name met first, whose id is the smallest.
  const auto commonest = std::min_element(count.begin(), count.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<Candidate> candidates;
  for (const SpanId span : trace.spans.ids().ids()) {
    if (trace.spans.name[span] != commonest->first || !trace.spans.step_number[span].has_value()) continue;
    candidates.push_back({span, trace.spans.step_number[span].value()});
  }
  auto found = to_marks(trace, std::move(candidates), StepSource::kStepNumber);
  if (found) found->detail = "step_num of `" + std::string(trace.text(commonest->first)) + "`";
  return found;
}

}  // namespace stepscope

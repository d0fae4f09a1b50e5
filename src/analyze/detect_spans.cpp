// Steps from spans that repeat, where nothing names a step (findings.md section 4).
//
// The count of `Optimizer.step#...` is the number of steps (else the commonest count of a span name, at least 2), and
// the earliest name with that count begins a step. Spans of the communication library are left out (a step has many),
// and those of compilers. Where a compiled JAX function runs again and again, its runs begin the steps.
//
// Several optimizers of one class step under one name. Where something else of the optimizer's stands between the steps
// (zero_grad, another class), a run of one name is one step: zero zero step step is a cycle. Without such a mark, or
// where both alternate as for a single optimizer (zero step zero step), they cannot be told apart.
//
// Loops without spans of their own still carry PyTorch's `Optimizer.step#` and `Optimizer.zero_grad#`. These stand at a
// step's end, so there a step is taken to run from the end of one cycle of them to the end of the next, and the first
// one from the first event recorded, unless that piece is over twice as long as any other: a program that is recorded
// from its start imports and sets up in it, which of two steps makes half of the time. Cutting at their start, as at
// any other span's, was rejected: it puts the boundary before the last work of a step and loses the first step.
//
// A first or last piece is a step only if it launched at least as much as the least of the others.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "analyze/launch_counts.h"
#include "analyze/program_spans.h"
#include "analyze/step_marks.h"

namespace stepscope {
namespace {

constexpr std::string_view kOptimizerPrefix = "Optimizer.";
constexpr std::string_view kOptimizerStepPrefix = "Optimizer.step#";
constexpr std::string_view kCommunicationPrefix = "nccl";

struct RepeatedName {
  StringId name;
  std::size_t count = 0;
  bool is_optimizer = false;
  bool is_optimizer_step = false;
};

// The thread's spans with each run of one optimizer name, nothing else of the optimizer's between, taken as one: its
// last span. Unchanged where one run is all that would be left of a name.
std::vector<SpanId> fold_optimizers(const Trace& trace, ThreadId main) {
  const IdRange<SpanId> all = trace.spans_of_thread[main];
  std::vector<SpanId> folded;
  struct Runs {
    std::size_t count = 0;
    bool is_folded = false;
  };
  std::unordered_map<StringId, Runs> runs;
  std::size_t last = 0;  // place of the last optimizer span in `folded`, from 1
  for (const SpanId span : all.ids()) {
    const StringId name = trace.spans.name[span];
    if (!trace.text(name).starts_with(kOptimizerPrefix)) {
      folded.push_back(span);
      continue;
    }
    if (last != 0 && trace.spans.name[folded[last - 1]] == name) {
      runs[name].is_folded = true;
      folded.erase(folded.begin() + static_cast<std::ptrdiff_t>(last) - 1);
    } else {
      ++runs[name].count;
    }
    folded.push_back(span);
    last = folded.size();
  }
  const bool is_too_few = std::any_of(runs.begin(), runs.end(),
                                      [](const auto& each) { return each.second.is_folded && each.second.count < 2; });
  if (!is_too_few) return folded;
  std::vector<SpanId> plain;
  for (const SpanId span : all.ids()) plain.push_back(span);
  return plain;
}

// By first appearance.
std::vector<RepeatedName> count_names(const Trace& trace, const std::vector<SpanId>& spans) {
  std::vector<RepeatedName> names;
  std::unordered_map<StringId, std::size_t> index;
  for (const SpanId span : spans) {
    const StringId name = trace.spans.name[span];
    const auto [at, is_new] = index.try_emplace(name, names.size());
    if (is_new) {
      const std::string_view text = trace.text(name);
      names.push_back({name, 0, text.starts_with(kOptimizerPrefix), text.starts_with(kOptimizerStepPrefix)});
    }
    ++names[at->second].count;
  }
  std::erase_if(names, [&](const RepeatedName& each) {
    const std::string_view text = trace.text(each.name);
    return each.count < 2 || text.starts_with(kCommunicationPrefix) || is_compiler_span(text) ||
           profiler_step_number(text);
  });
  return names;
}

// How many steps the names speak of; 0 when none repeats.
std::size_t find_step_count(const std::vector<RepeatedName>& names) {
  std::unordered_map<std::size_t, std::size_t> votes;
  std::size_t best = 0;
  for (const RepeatedName& each : names) {
    if (each.is_optimizer_step) return each.count;
    if (++votes[each.count] > votes[best]) best = each.count;
  }
  return best;
}

// The spans of the cycle's names, in order of start.
struct CycleSpan {
  StringId name;
  Interval host;
};
struct Cycle {
  StringId first_name;
  bool optimizer_only = true;
  std::vector<CycleSpan> spans;
};

Cycle collect_cycle(const Trace& trace, const std::vector<SpanId>& spans, const std::vector<RepeatedName>& names,
                    std::size_t count) {
  Cycle cycle;
  std::unordered_map<StringId, bool> belongs;
  for (const RepeatedName& each : names) {
    if (each.count != count) continue;
    if (belongs.empty()) cycle.first_name = each.name;
    belongs[each.name] = true;
    cycle.optimizer_only = cycle.optimizer_only && each.is_optimizer;
  }
  for (const SpanId span : spans) {
    if (!belongs.contains(trace.spans.name[span])) continue;
    cycle.spans.push_back({trace.spans.name[span], {trace.spans.start_ns[span], trace.spans.end_ns[span]}});
  }
  return cycle;
}

struct Pieces {
  std::vector<Interval> steps;
  bool is_without_first = false;  // what came before the first end is too long for a step
};

// Ends of the optimizer's cycles: the end of the last span before the first name comes again.
Pieces pieces_between_ends(const Cycle& cycle, const LaunchCounts& work, TimeNs first_event) {
  std::vector<TimeNs> ends;
  for (const CycleSpan& span : cycle.spans) {
    if (span.name == cycle.first_name || ends.empty()) ends.push_back(span.host.end_ns);
    ends.back() = std::max(ends.back(), span.host.end_ns);
  }
  Pieces pieces;
  DurationNs longest_ns = 0;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    pieces.steps.push_back({ends[i], ends[i + 1]});
    longest_ns = std::max(longest_ns, pieces.steps.back().length_ns());
  }
  const Interval before{first_event, ends.front()};
  if (pieces.steps.empty() || work.count_in(before) < work.least_in(pieces.steps)) return pieces;
  pieces.is_without_first = before.length_ns() / 2 > longest_ns;
  if (!pieces.is_without_first) pieces.steps.insert(pieces.steps.begin(), before);
  return pieces;
}

// Starts of the first name. The last piece has no next start: it ends with the last host event after its last span (a
// step reads its loss there), at most as long after it as in the other pieces.
Pieces pieces_between_starts(const Trace& trace, ThreadId main, const Cycle& cycle, const LaunchCounts& work) {
  std::vector<TimeNs> starts;
  TimeNs last_end = std::numeric_limits<TimeNs>::min();
  DurationNs longest_tail = 0;
  for (const CycleSpan& span : cycle.spans) {
    const TimeNs start = span.host.start_ns;
    if (span.name == cycle.first_name) {
      if (!starts.empty()) longest_tail = std::max(longest_tail, start - last_end);
      starts.push_back(start);
    }
    last_end = std::max(last_end, span.host.end_ns);
  }
  std::vector<Interval> pieces;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) pieces.push_back({starts[i], starts[i + 1]});
  if (pieces.empty()) return {};
  const Interval last{starts.back(), last_host_event(trace, main, last_end, last_end + longest_tail)};
  if (work.count_in(last) >= work.least_in(pieces)) pieces.push_back(last);
  return {std::move(pieces)};
}

TimeNs first_host_event(const Trace& trace, ThreadId main) {
  TimeNs first = std::numeric_limits<TimeNs>::max();
  auto look_at = [&first](const auto& rows, const auto& starts) {
    if (!rows.empty()) first = std::min(first, starts.raw()[rows.begin]);
  };
  look_at(trace.ops_of_thread[main], trace.ops.start_ns);
  look_at(trace.calls_of_thread[main], trace.calls.start_ns);
  look_at(trace.spans_of_thread[main], trace.spans.start_ns);
  return first;
}

}  // namespace

std::optional<StepMarks> detect_steps_by_spans(const Trace& trace, ThreadId main) {
  Cycle cycle;
  const ProgramRuns program = find_program_runs(trace, main);
  std::size_t count = program.runs.size();
  if (count > 0) {
    cycle.first_name = program.name;
    cycle.optimizer_only = false;
    for (const Interval& run : program.runs) cycle.spans.push_back({program.name, run});
  } else {
    const std::vector<SpanId> spans = fold_optimizers(trace, main);
    const std::vector<RepeatedName> names = count_names(trace, spans);
    count = find_step_count(names);
    if (count < 2) return std::nullopt;
    cycle = collect_cycle(trace, spans, names, count);
  }
  const LaunchCounts work = LaunchCounts::launches_of(trace);
  const Pieces pieces = cycle.optimizer_only ? pieces_between_ends(cycle, work, first_host_event(trace, main))
                                             : pieces_between_starts(trace, main, cycle, work);
  StepMarks found;
  found.source = StepSource::kDetectedSpans;
  found.thread = main;
  found.detail = "span `" + std::string(trace.text(cycle.first_name)) + "`, " + std::to_string(count) + " times";
  if (pieces.is_without_first) found.detail += ", without what came before the first, too long for a step";
  for (const Interval& each : pieces.steps) {
    if (each.length_ns() > 0) found.marks.push_back({static_cast<std::int64_t>(found.marks.size()), each, false});
  }
  if (found.marks.empty()) return std::nullopt;
  return found;
}

}  // namespace stepscope

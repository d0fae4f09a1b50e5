// What ended the steps that the agent marked.
//
// The agent names its steps ProfilerStep#N, as every reader of traces knows them, and gives them their number as a
// JAX step has it (Spans::step_number), which PyTorch's own never have. What it heard is in the file beside them: the
// span whose end it took for the step's, to the nanosecond. So the name needs no field of its own in the file, and old
// captures have it too. A mark whose span was dropped has none; the commonest name of the others stands for it.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyze/step_marks.h"

namespace stepscope {
namespace {

constexpr std::string_view kOptimizer = "Optimizer.";

// "train#12" and "train 12" are steps of `train`; the part behind # of `Optimizer.step#SGD.step` is no number.
std::string_view without_number(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  if (digits == std::string_view::npos || digits + 1 == name.size() || digits == 0) return name;
  return name[digits] == '#' || name[digits] == ' ' ? name.substr(0, digits) : name;
}

// How many spans of that name end in a step, in the middle one of them.
std::size_t count_a_step(const std::vector<TimeNs>& ends, const std::vector<StepMark>& marks) {
  std::vector<std::size_t> counts;
  for (const StepMark& mark : marks) {
    const auto after_start = std::upper_bound(ends.begin(), ends.end(), mark.host.start_ns);
    counts.push_back(
        static_cast<std::size_t>(std::upper_bound(after_start, ends.end(), mark.host.end_ns) - after_start));
  }
  std::nth_element(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2), counts.end());
  return counts[counts.size() / 2];
}

std::string ordinal(std::size_t number) {
  const bool is_teen = number % 100 >= 11 && number % 100 <= 13;
  constexpr std::string_view kEndings[] = {"th", "st", "nd", "rd"};
  const std::size_t last = is_teen || number % 10 > 3 ? 0 : number % 10;
  return std::to_string(number) + std::string(kEndings[last]);
}

}  // namespace

void name_heard_steps(const Trace& trace, StepMarks& found) {
  found.detail = "spans heard by the agent";
  std::unordered_set<TimeNs> step_ends;
  for (const StepMark& mark : found.marks) step_ends.insert(mark.host.end_ns);
  std::map<std::string_view, std::size_t> count_of;
  for (const SpanId span : trace.spans_of_thread[found.thread].ids()) {
    if (trace.spans.step_number[span].has_value() || !step_ends.contains(trace.spans.end_ns[span])) continue;
    ++count_of[without_number(trace.text(trace.spans.name[span]))];
  }
  if (count_of.empty()) return;
  const std::string_view heard = std::max_element(count_of.begin(), count_of.end(), [](const auto& a, const auto& b) {
                                   return a.second < b.second;
                                 })->first;
  if (!heard.starts_with(kOptimizer)) {
    found.source = StepSource::kNamedSpan;
    found.detail = "span `" + std::string(heard) + "`, heard by the agent";
    return;
  }
  std::vector<TimeNs> ends;
  for (const SpanId span : trace.spans_of_thread[found.thread].ids()) {
    if (trace.text(trace.spans.name[span]) == heard) ends.push_back(trace.spans.end_ns[span]);
  }
  std::sort(ends.begin(), ends.end());
  const std::size_t count = count_a_step(ends, found.marks);
  found.source = StepSource::kOptimizerStep;
  found.detail = (count > 1 ? "every " + ordinal(count) + " " : "") + std::string(heard) + ", heard by the agent";
}

}  // namespace stepscope

// Where steps begin, from annotations. In this order: the caller's name; ProfilerStep#N, which prof.step() records;
// another numbered name (step#3); the end of the optimizer's step, which torch annotates by itself; another name that
// repeats on the outermost level. Among several of a kind the one that covers most time is taken.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "memory/spans.h"

namespace stepscope {
namespace {

constexpr std::string_view kProfilerStep = "ProfilerStep";
constexpr std::string_view kOptimizerStep = "Optimizer.step#";

// "step#3" -> "step", 3. Names that end otherwise have no number.
struct StepName {
  std::string_view base;
  std::optional<std::int64_t> number;
};
StepName split_step_name(std::string_view name) {
  const std::size_t sharp = name.rfind('#');
  if (sharp == std::string_view::npos || sharp == 0) return {name, {}};
  const std::string_view digits = name.substr(sharp + 1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return {name, {}};
  return {name.substr(0, sharp), number};
}

// All spans of one base name on the device.
struct Candidate {
  std::vector<std::size_t> starts;  // positions among the annotations
  std::vector<std::size_t> ends;
  std::vector<std::size_t> open;  // starts without an end yet
  double covered_us = 0;
  bool is_numbered = false;
  bool is_outermost = true;
};
using Candidates = std::map<std::string, Candidate, std::less<>>;

Candidates collect_candidates(const MemorySnapshot& snapshot, const std::vector<SnapshotAnnotationId>& annotations) {
  Candidates found;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < annotations.size(); ++at) {
    const StepName name = split_step_name(snapshot.text(snapshot.annotations.name[annotations[at]]));
    auto place = found.find(name.base);
    if (place == found.end()) place = found.emplace(std::string(name.base), Candidate{}).first;
    Candidate& candidate = place->second;
    candidate.is_numbered |= name.number.has_value();
    if (snapshot.annotations.is_start[annotations[at]] != 0) {
      candidate.is_outermost &= depth == 0;
      candidate.starts.push_back(at);
      candidate.open.push_back(at);
      ++depth;
      continue;
    }
    candidate.ends.push_back(at);
    if (candidate.open.empty()) continue;
    const double begin = static_cast<double>(snapshot.annotations.time_us[annotations[candidate.open.back()]].value());
    const double end = static_cast<double>(snapshot.annotations.time_us[annotations[at]].value());
    candidate.covered_us += std::max(end - begin, 0.0);
    candidate.open.pop_back();
    if (depth > 0) --depth;
  }
  return found;
}

// The candidate that `accepts` and covers most time; ties by name. Null if none.
template <class Accepts>
const Candidates::value_type* find_longest(const Candidates& candidates, Accepts accepts) {
  const Candidates::value_type* longest = nullptr;
  for (const auto& each : candidates) {
    if (!accepts(each.first, each.second)) continue;
    if (longest == nullptr || each.second.covered_us > longest->second.covered_us) longest = &each;
  }
  return longest;
}

const Candidates::value_type* choose(const Candidates& candidates, const std::string& wanted) {
  if (!wanted.empty()) {
    const auto found = candidates.find(wanted);
    return found == candidates.end() ? nullptr : &*found;
  }
  if (const auto found = candidates.find(kProfilerStep); found != candidates.end()) return &*found;
  const auto repeats = [](const Candidate& candidate) { return candidate.starts.size() > 1; };
  const auto is_numbered = [&](std::string_view, const Candidate& each) { return each.is_numbered && repeats(each); };
  if (const auto* found = find_longest(candidates, is_numbered); found != nullptr) return found;
  const auto is_optimizer = [](std::string_view name, const Candidate& each) {
    return name.starts_with(kOptimizerStep) && !each.ends.empty();
  };
  if (const auto* found = find_longest(candidates, is_optimizer); found != nullptr) return found;
  return find_longest(candidates,
                      [&](std::string_view, const Candidate& each) { return each.is_outermost && repeats(each); });
}

}  // namespace

MemorySteps find_memory_steps(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                              const std::vector<SnapshotAnnotationId>& annotations,
                              const std::vector<std::size_t>& moments, const std::string& wanted) {
  MemorySteps steps;
  const Candidates candidates = collect_candidates(snapshot, annotations);
  const Candidates::value_type* chosen = choose(candidates, wanted);
  if (chosen == nullptr) return steps;
  steps.name = chosen->first;
  const Candidate& spans = chosen->second;
  if (chosen->first.starts_with(kOptimizerStep)) {
    // It is the last act of a step: what comes before the first belongs to that step.
    steps.moments.push_back(0);
    for (const std::size_t end : spans.ends) steps.moments.push_back(moments[end]);
  } else {
    for (const std::size_t start : spans.starts) steps.moments.push_back(moments[start]);
    if (spans.starts.empty()) return steps;
    const bool is_closed = !spans.ends.empty() && spans.ends.back() > spans.starts.back();
    steps.moments.push_back(is_closed ? moments[spans.ends.back()] : snapshot.devices.entries[device].size());
  }
  for (std::size_t step = 0; step + 1 < steps.moments.size(); ++step) {
    const bool is_numbered = spans.is_numbered && step < spans.starts.size();
    const std::optional<std::int64_t> number =
        is_numbered ? split_step_name(snapshot.text(snapshot.annotations.name[annotations[spans.starts[step]]])).number
                    : std::nullopt;
    steps.numbers.push_back(number.value_or(static_cast<std::int64_t>(step)));
  }
  return steps;
}

void measure_steps(const MemorySnapshot& snapshot, SnapshotDeviceId device, const std::vector<std::int64_t>& allocated,
                   MemorySteps& steps) {
  const std::uint32_t first_entry = snapshot.devices.entries[device].begin;
  for (std::size_t step = 0; step + 1 < steps.moments.size(); ++step) {
    const auto begin = allocated.begin() + static_cast<std::ptrdiff_t>(steps.moments[step]);
    const auto end = allocated.begin() + static_cast<std::ptrdiff_t>(steps.moments[step + 1]) + 1;
    const auto highest = std::max_element(begin, end);
    steps.peak_bytes.push_back(*highest);
    const auto moment = static_cast<std::size_t>(highest - allocated.begin());
    steps.peak_entry.push_back(highest == begin ? SnapshotEntryId{} : SnapshotEntryId(first_entry + moment - 1));
  }
}

}  // namespace stepscope

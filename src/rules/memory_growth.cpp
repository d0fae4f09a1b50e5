// memory-growth: what is allocated when a step begins is more than when the step before began, step after step.
//
// Symptom: memory climbs until it runs out, often hours later. Evidence: the allocated level at the boundaries of
// steps, and the lines of what was allocated since and never freed. Threshold: the level rises at nine boundaries of
// ten, from the second on (the first step makes the optimizer's state), over at least 3 steps, and by 0.1 % of itself a
// step: slower growth needs over 1,000 steps to double it. A loop that keeps nothing comes back to the same byte, so
// its rise is 0. False alarm: a cache that fills for some steps and then stops (a replay buffer, lazily built tables).
#include <algorithm>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr std::size_t kFewestSteps = 3;
constexpr double kRisingShare = 0.9;
constexpr double kShareAStep = 0.001;

}  // namespace

std::optional<MemoryFinding> find_memory_growth(const MemoryRuleInput& input) {
  const MemorySteps& steps = input.facts.steps[input.device];
  if (steps.moments.size() < kFewestSteps + 2) return std::nullopt;
  const auto level = compute_level(input.snapshot, input.facts, input.device, MemoryLevelKind::kAllocated);
  const std::size_t first = 1, last = steps.moments.size() - 1;
  std::size_t rising = 0;
  for (std::size_t k = first; k < last; ++k) {
    rising += level[steps.moments[k + 1]] > level[steps.moments[k]] ? 1 : 0;
  }
  const auto step_count = static_cast<std::int64_t>(last - first);
  const std::size_t from = steps.moments[first], to = steps.moments[last];
  const std::int64_t grown = level[to] - level[from];
  if (static_cast<double>(rising) < kRisingShare * static_cast<double>(step_count)) return std::nullopt;
  if (static_cast<double>(grown) < kShareAStep * static_cast<double>(step_count) * static_cast<double>(level[from])) {
    return std::nullopt;
  }
  if (grown <= 0) return std::nullopt;

  MemoryFinding finding;
  finding.id = "memory-growth";
  finding.severity = Severity::kFault;
  finding.title = "Allocated memory grows by " + format_memory(grown / step_count) + " a step and is not given back";
  finding.evidence.push_back(
      {"From step to step it rises " + count_of(static_cast<std::int64_t>(rising), "time", "times") + " of " +
           format_count(static_cast<double>(step_count)) + ": " + format_memory(level[from]) + " when step " +
           std::to_string(steps.numbers[first]) + " begins, " + format_memory(level[to]) + " when step " +
           std::to_string(steps.numbers[last - 1]) + " ends.",
       to == 0 ? 0 : to - 1});
  const auto lines = find_growth(input.snapshot, input.facts, input.device, from, to, LiveGrouping::kLine);
  if (!lines.empty()) {
    finding.evidence.push_back({"Allocated since and still held: " + list_lines(lines, 3) + ".", std::nullopt});
    finding.advice.push_back("Look for what keeps the tensors of " + without_folders(lines.front().name) +
                             ": a list of losses (append loss.detach()), a cache, a hook, an exception's traceback");
  }
  finding.advice.emplace_back("stepscope memory FILE --diff LATER shows what a later snapshot holds more");
  // What had grown when the peak's step began is part of the peak.
  const SnapshotEntryId peak = input.level(MemoryLevelKind::kAllocated).peak_entry;
  const auto after =
      std::upper_bound(steps.moments.begin(), steps.moments.end(), moment_after(input.snapshot, input.device, peak));
  if (after != steps.moments.begin()) {
    const std::int64_t in_peak = level[*(after - 1)] - level[from];
    if (in_peak > 0) finding.saving_bytes = in_peak;
  }
  return finding;
}

}  // namespace stepscope

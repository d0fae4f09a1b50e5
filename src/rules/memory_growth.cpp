// memory-growth: every step leaves something behind that is never freed.
//
// Symptom: memory climbs until it runs out, often hours later. Evidence: the lines of which, from the second step on
// (the first makes the optimizer's state), something is still held when the last step ends, made in nine of ten steps
// before that last one, over at least 3 such steps; and they hold more then than when the second step began, by 0.1 %
// of the allocated level a step: slower growth needs over 1,000 steps to double it. A loop that keeps nothing has no
// such line. Rejected: whether the level rises from step to step. It follows the length of the batch too, and four of
// five independent lengths in ascending order come once in 24 runs: two runs of one program got two answers. False
// alarm: a cache that fills for some steps and then stops (a replay buffer, lazily built tables).
#include <algorithm>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr std::size_t kFewestSteps = 3;
constexpr double kLeavingShare = 0.9;
constexpr double kShareAStep = 0.001;

// Lines of which nearly every step left something.
std::vector<LiveGroup> find_leaks(const MemoryRuleInput& input, std::size_t judged_count) {
  std::vector<LiveGroup> leaks;
  for (StepGrowth& line : find_step_growth(input.snapshot, input.facts, input.device, LiveGrouping::kLine)) {
    const bool is_left = static_cast<double>(line.step_count) >= kLeavingShare * static_cast<double>(judged_count);
    if (is_left && line.grown.bytes > 0) leaks.push_back(std::move(line.grown));
  }
  return leaks;
}

}  // namespace

std::optional<MemoryFinding> find_memory_growth(const MemoryRuleInput& input) {
  const MemorySteps& steps = input.facts.steps[input.device];
  if (steps.moments.size() < kFewestSteps + 3) return std::nullopt;  // the first step, those judged, the last
  const std::size_t first = 1, last = steps.moments.size() - 1;
  const std::vector<LiveGroup> lines = find_leaks(input, last - 1 - first);
  std::int64_t grown = 0;
  for (const LiveGroup& line : lines)
    grown = static_cast<std::int64_t>(static_cast<std::uint64_t>(grown) + static_cast<std::uint64_t>(line.bytes));
  const auto step_count = static_cast<std::int64_t>(last - first);
  const auto level = compute_level(input.snapshot, input.facts, input.device, MemoryLevelKind::kAllocated);
  const std::size_t from = steps.moments[first], to = steps.moments[last];
  if (grown <= 0 ||
      static_cast<double>(grown) < kShareAStep * static_cast<double>(step_count) * static_cast<double>(level[from])) {
    return std::nullopt;
  }

  MemoryFinding finding;
  finding.id = "memory-growth";
  finding.severity = Severity::kFault;
  finding.title = "Memory grows by " + format_memory(grown / step_count) + " a step that is never given back";
  finding.evidence.push_back(
      {"Made in steps " + std::to_string(steps.numbers[first]) + " to " + std::to_string(steps.numbers[last - 1]) +
           " and still held when the last one ends, some of nearly each: " + list_lines(lines, 3) + ".",
       to == 0 ? 0 : to - 1});
  finding.evidence.push_back({"The allocated level is " + format_memory(level[from]) + " when step " +
                                  std::to_string(steps.numbers[first]) + " begins, " + format_memory(level[to]) +
                                  " when step " + std::to_string(steps.numbers[last - 1]) + " ends.",
                              std::nullopt});
  finding.advice.push_back("Look for what keeps " + tensors_of(lines.front().name) +
                           ": a list of losses (append loss.detach()), a cache, a hook, an exception's traceback");
  finding.advice.emplace_back("stepscope memory FILE --diff LATER shows what a later snapshot holds more");
  // What had grown when the peak's step began is part of the peak.
  const SnapshotEntryId peak = input.level(MemoryLevelKind::kAllocated).peak_entry;
  const auto after =
      std::upper_bound(steps.moments.begin(), steps.moments.end(), moment_after(input.snapshot, input.device, peak));
  const auto begun = after - steps.moments.begin() - 1 - static_cast<std::ptrdiff_t>(first);
  if (begun > 0) finding.saving_bytes = grown / step_count * std::min<std::int64_t>(begun, step_count);
  return finding;
}

}  // namespace stepscope

// memory-spike, from a trace or capture: one step needs far more GPU memory than the others, and sets the peak of all.
//
// Symptom: a run dies at some later step, or needs a smaller batch for the sake of one. Evidence: the allocated peak of
// each step, from memory events or from the levels that `stepscope run --memory` reads. Which lines hold it only a
// snapshot tells, for which the rule of the same name over snapshots (memory_spike.cpp) has the same thresholds: 1.25
// times the step whose peak is the median, of at least 4 steps, and at most one in four as high, since more are how the
// loop is (varying lengths). A remark, never a fault here: it costs memory and no time.
// False alarm: a step that is meant to be large (evaluation inside the loop).
#include <algorithm>
#include <vector>

#include "rules/memory_wording.h"
#include "rules/rule_list.h"

namespace stepscope {
namespace {

constexpr double kTimes = 1.25;
constexpr std::size_t kFewestSteps = 4;
constexpr std::size_t kRareOneOf = 4;

struct Spike {
  std::size_t step = 0;
  std::int64_t peak_bytes = 0, ordinary_bytes = 0, highest_other_bytes = 0;
};

std::optional<Spike> find_spike(const DeviceMemoryLevels& memory) {
  std::vector<std::int64_t> peaks;
  Spike spike;
  for (std::size_t step = 0; step < memory.allocated_peak_by_step_bytes.size(); ++step) {
    const auto& peak = memory.allocated_peak_by_step_bytes[step];
    if (!peak) continue;
    peaks.push_back(*peak);
    if (*peak > spike.peak_bytes) spike.step = step, spike.peak_bytes = *peak;
  }
  if (peaks.size() < kFewestSteps) return std::nullopt;
  std::sort(peaks.begin(), peaks.end());
  spike.ordinary_bytes = peaks[(peaks.size() - 1) / 2];
  const auto is_high = [&](std::int64_t peak) {
    return static_cast<double>(peak) >= kTimes * static_cast<double>(spike.ordinary_bytes);
  };
  if (spike.ordinary_bytes <= 0 || !is_high(peaks.back())) return std::nullopt;
  const auto first_high = std::find_if(peaks.begin(), peaks.end(), is_high);
  if (static_cast<std::size_t>(peaks.end() - first_high) * kRareOneOf > peaks.size()) return std::nullopt;
  spike.highest_other_bytes = *std::prev(first_high);
  return spike;
}

}  // namespace

std::optional<Finding> find_memory_spike_of_steps(const RuleInput& input) {
  std::optional<Spike> worst;
  for (const DeviceMemoryLevels& memory : input.facts.memory.devices) {
    const auto spike = find_spike(memory);
    if (spike && (!worst || spike->peak_bytes > worst->peak_bytes)) worst = spike;
  }
  if (!worst || worst->step >= input.facts.steps.steps.size()) return std::nullopt;
  const Step& step = input.facts.steps.steps[worst->step];
  const std::string number = std::to_string(step.number);
  Finding finding;
  finding.id = "memory-spike";
  finding.severity = Severity::kNote;
  finding.title = "Step " + number + " needs " + format_memory(worst->peak_bytes) +
                  " of GPU memory, an ordinary step " + format_memory(worst->ordinary_bytes);
  finding.evidence.push_back(
      {"Without such steps the others need at most " + format_memory(worst->highest_other_bytes) + ".", step.host});
  finding.advice = {
      "Look at the batch of step " + number + ": cap or bucket its length, or split it (gradient accumulation)",
      "Which lines hold it: stepscope memory, on a snapshot of stepscope run --memory"};
  return finding;
}

}  // namespace stepscope

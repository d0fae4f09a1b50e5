// memory-spike: one step needs far more than the others, and sets the peak of all.
//
// Symptom: a run dies at some later step, or needs a smaller batch for the sake of one. Evidence: the allocated peak of
// each step, and by which lines the large step's peak differs from an ordinary one's.
// Threshold: 1.25 times the step whose peak is the median, out of at least 4 steps (of three, one without the
// optimizer's state and one large leave no ordinary one). High steps may be one in four: more are how this loop
// is, varying lengths for example, and no exception. On tests/data/memory/h200/snap steps of one
// shape peak at the same byte, and the one whose batch is four times as large at 2.4 times that.
// False alarm: a step that is meant to be large (evaluation inside the loop); its lines say so.
#include <algorithm>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kTimes = 1.25;
constexpr std::size_t kFewestSteps = 4;
constexpr std::size_t kRareOneOf = 4;
constexpr double kFaultShare = 0.1;  // of the peak; less is worth a remark

struct Heights {
  std::size_t high = 0;            // steps that need so many times an ordinary one
  std::int64_t highest_other = 0;  // peak of the rest
};

Heights measure_heights(const std::vector<std::int64_t>& peaks, std::int64_t ordinary) {
  Heights heights;
  for (const std::int64_t peak : peaks) {
    const bool is_high = static_cast<double>(peak) >= kTimes * static_cast<double>(ordinary);
    heights.high += is_high ? 1 : 0;
    if (!is_high) heights.highest_other = std::max(heights.highest_other, peak);
  }
  return heights;
}

}  // namespace

std::optional<MemoryFinding> find_memory_spike(const MemoryRuleInput& input) {
  const MemorySteps& steps = input.facts.steps[input.device];
  if (steps.peak_bytes.size() < kFewestSteps) return std::nullopt;
  const auto compared = compare_steps(input.snapshot, input.facts, input.device, LiveGrouping::kLine);
  if (!compared || compared->ordinary_bytes <= 0) return std::nullopt;
  const double times = static_cast<double>(compared->peak_bytes) / static_cast<double>(compared->ordinary_bytes);
  if (times < kTimes) return std::nullopt;
  const Heights heights = measure_heights(steps.peak_bytes, compared->ordinary_bytes);
  if (heights.high * kRareOneOf > steps.peak_bytes.size()) return std::nullopt;

  const std::string step = std::to_string(steps.numbers[compared->peak_step]);
  MemoryFinding finding;
  finding.id = "memory-spike";
  finding.severity = Severity::kFault;
  finding.title = "Step " + step + " needs " + format_memory(compared->peak_bytes) + ", " + format_times(times) +
                  " the " + format_memory(compared->ordinary_bytes) + " of an ordinary step";
  if (heights.high > 1) {
    finding.title += "; " + count_of(static_cast<std::int64_t>(heights.high), "step", "steps") + " of " +
                     std::to_string(steps.peak_bytes.size()) + " are so high";
  }
  std::vector<LiveGroup> more = compared->differences;
  std::erase_if(more, [](const LiveGroup& line) { return line.bytes <= 0; });
  std::optional<std::size_t> event;
  const SnapshotEntryId peak_entry = steps.peak_entry[compared->peak_step];
  if (peak_entry.has_value()) event = input.event_of(peak_entry);
  std::string text = event ? "Its peak is at " + describe_event(input, *event) : "Its peak is where it begins";
  if (!more.empty()) {
    text +=
        ". More than in step " + std::to_string(steps.numbers[compared->ordinary_step]) + ": " + list_lines(more, 3);
  }
  finding.evidence.push_back({text + ".", event});
  finding.advice.push_back("Look at the batch of step " + step +
                           ": cap or bucket its length, or split it (gradient accumulation)");
  // Outside the steps (loading a checkpoint, the loop's end) memory may be higher still: then nothing is won.
  const std::int64_t peak = input.level(MemoryLevelKind::kAllocated).peak_bytes;
  if (compared->peak_bytes >= peak && compared->peak_bytes > heights.highest_other) {
    finding.saving_bytes = compared->peak_bytes - heights.highest_other;
    const double share = static_cast<double>(*finding.saving_bytes) / static_cast<double>(compared->peak_bytes);
    if (share < kFaultShare) finding.severity = Severity::kNote;
    finding.gain = std::string(heights.high == 1 ? "without it" : "without such steps") + " the others need at most " +
                   format_memory(heights.highest_other);
  }
  return finding;
}

}  // namespace stepscope

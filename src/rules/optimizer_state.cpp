// optimizer-state: the optimizer makes its state in the first step, so the second step's peak is higher for good.
//
// Symptom: a run that fits its first step fails in its second; a peak measured over one step is too low. Evidence:
// allocations of the category "optimizer state" within the history that stay. Information: nothing is wrong.
// Threshold: 5 % of the allocated peak, the least that a reader would see in a curve of it.
// False alarm: where categories are inferred, whatever else is made inside Optimizer.step and kept (gradient scalers).
#include <algorithm>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kShare = 0.05;

struct State {
  std::int64_t bytes = 0, count = 0;
  SnapshotEntryId first, last;
  bool is_inferred = false;
};

State sum_state(const MemoryRuleInput& input) {
  State state;
  const Allocations& all = input.facts.allocations;
  for (const AllocationId id : input.device_facts().allocations.ids()) {
    if (category_of(all, id) != MemoryCategory::kOptimizerState || !all.alloc_entry[id].has_value()) continue;
    if (all.free_requested_entry[id].has_value() || all.free_completed_entry[id].has_value()) continue;
    state.bytes += all.requested_bytes[id];
    ++state.count;
    if (!state.first.has_value()) state.first = all.alloc_entry[id];
    state.last = all.alloc_entry[id];
    state.is_inferred = state.is_inferred || all.category_source[id] == CategorySource::kInferred;
  }
  return state;
}

}  // namespace

std::optional<MemoryFinding> find_optimizer_state(const MemoryRuleInput& input) {
  const State state = sum_state(input);
  const std::int64_t peak = input.level(MemoryLevelKind::kAllocated).peak_bytes;
  if (state.bytes <= 0 || static_cast<double>(state.bytes) < kShare * static_cast<double>(peak)) return std::nullopt;
  const std::size_t event = input.event_of(state.first);
  const auto level = compute_level(input.snapshot, input.facts, input.device, MemoryLevelKind::kAllocated);
  const auto begin = level.begin() + static_cast<std::ptrdiff_t>(event) + 1;
  const std::int64_t before = *std::max_element(level.begin(), begin);
  MemoryFinding finding;
  finding.id = "optimizer-state";
  finding.severity = Severity::kInformation;
  finding.title = format_memory(state.bytes) + " of optimizer state appear at " + describe_event(input, event) +
                  " and stay" + (peak > before ? ": a peak measured before is too low" : "");
  finding.evidence.push_back({count_of(state.count, "tensor", "tensors") + " by " +
                                  describe_place(input, input.snapshot.entries.stack[state.first]) + ", " +
                                  format_percent(static_cast<double>(state.bytes) / static_cast<double>(peak)) +
                                  " of the allocated peak" + (state.is_inferred ? " (category inferred)" : "") + ".",
                              event});
  finding.evidence.push_back(
      {"The allocated peak up to there is " + format_memory(before) + ", of the whole " + format_memory(peak) + ".",
       std::nullopt});
  finding.advice.emplace_back("Measure peaks over two steps or more; to shrink it: an 8-bit or sharded optimizer");
  return finding;
}

}  // namespace stepscope

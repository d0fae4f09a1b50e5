// activations-dominate: most of the peak is kept for the backward pass; checkpointing would trade it for computing
// twice.
//
// Symptom: memory grows with batch and sequence. Evidence: the category of what is live at the allocated peak, by line
// and module; how high everything else is by itself; and what checkpointing of the blocks would leave
// (memory/checkpointing.h), which is the saving. Where a trace was read, also what part of the GPU's time forward is.
// Threshold: kShare of the peak. Recordings are silent at 0.33 and 0.35 (tests/data/golden/conv, enc) and fire at 0.50
// and 0.62 (memory/h200/snap, solid4_stack); kShare is half-way (geometric) between. It was 0.5 before, with one
// program at 0.496. False alarm: a model that is checkpointed already keeps block inputs, which are activations too;
// nothing is saved then, and no number is shown.
#include <algorithm>

#include "memory/checkpointing.h"
#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kShare = 0.4;

struct Held {
  std::int64_t bytes = 0;
  bool is_inferred = false;
  std::vector<AllocationId> allocations;
};

Held sum_activations(const MemoryRuleInput& input, std::int64_t& live_bytes) {
  Held held;
  const Allocations& all = input.facts.allocations;
  for (const AllocationId id : input.live_at_peak) {
    live_bytes += all.requested_bytes[id];
    if (category_of(all, id) != MemoryCategory::kActivation) continue;
    held.bytes += all.requested_bytes[id];
    held.is_inferred = held.is_inferred || all.category_source[id] == CategorySource::kInferred;
    held.allocations.push_back(id);
  }
  return held;
}

void add_evidence(MemoryFinding& finding, std::string text) {
  finding.evidence.push_back({std::move(text), std::nullopt});
}

// "each block" or "every 2 blocks", and the line that most of them comes from.
void add_plan(const MemoryRuleInput& input, const CheckpointEstimate& estimate, MemoryFinding& finding) {
  const CheckpointPlan& plan = *estimate.plan;
  const auto lines = group_live(input.snapshot, input.facts, plan.in_blocks, LiveGrouping::kLine);
  const std::string line = without_folders(lines.front().name);
  const std::string blocks =
      plan.blocks_together == 1 ? "each block" : "every " + count_of(plan.blocks_together, "block", "blocks");
  add_evidence(
      finding,
      format_memory(plan.block_bytes) + " of them repeat in " +
          count_of(plan.block_count, "like block", "like blocks") + ", most by " + line + ". With checkpointing of " +
          blocks + " " + format_memory(plan.kept_bytes) + " stay" +
          (plan.outside_bytes > 0 ? " (" + format_memory(plan.outside_bytes) + " that do not repeat among them)" : "") +
          " and " + format_memory(plan.recomputed_bytes) + " are computed again at a time, of " +
          format_memory(estimate.activation_bytes) + ".");
  if (const auto& ratio = input.snapshot.info.forward_gpu_ratio) {
    add_evidence(finding, "Forward, which would be computed again, is " + format_percent(*ratio) +
                              " of the GPU's time in this trace.");
  }
  finding.saving_bytes = estimate.peak_bytes - plan.peak_bytes;
  finding.gain =
      "the peak is about " + format_memory(plan.peak_bytes) + ", for at most one more forward pass in each step";
  finding.advice.push_back("torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) around " + blocks +
                           (plan.blocks_together == 1 ? " that calls " : " that call ") + line);
}

// Those of at least a hundredth of all, and the largest in any case.
std::vector<LiveGroup> large_groups(const MemoryRuleInput& input, const Held& held, LiveGrouping by) {
  auto groups = group_live(input.snapshot, input.facts, held.allocations, by);
  while (groups.size() > 1 && groups.back().bytes < held.bytes / 100) groups.pop_back();
  return groups;
}

}  // namespace

std::optional<MemoryFinding> find_activations_dominate(const MemoryRuleInput& input) {
  std::int64_t live_bytes = 0;
  const Held held = sum_activations(input, live_bytes);
  if (held.bytes <= 0 || static_cast<double>(held.bytes) < kShare * static_cast<double>(live_bytes)) {
    return std::nullopt;
  }
  const auto lines = large_groups(input, held, LiveGrouping::kLine);
  const auto modules = large_groups(input, held, LiveGrouping::kModule);
  const CheckpointEstimate estimate =
      estimate_checkpointing(input.snapshot, input.facts, input.device, input.live_at_peak);
  MemoryFinding finding;
  finding.id = "activations-dominate";
  finding.severity = Severity::kNote;
  finding.title = format_percent(static_cast<double>(held.bytes) / static_cast<double>(live_bytes)) + " of the peak, " +
                  format_memory(held.bytes) + ", are activations kept for the backward pass";
  add_evidence(finding, "Most by " + list_lines(lines, 3) + (held.is_inferred ? " (category inferred)." : "."));
  if (modules.size() > 1) add_evidence(finding, "By module: " + list_lines(modules, 3) + ".");
  add_evidence(finding, "Everything else needs " + format_memory(estimate.peak_without_bytes) +
                            " at its own highest, of " + format_memory(estimate.peak_bytes) +
                            ": no checkpointing goes below that.");
  if (estimate.plan) {
    add_plan(input, estimate, finding);
  } else {
    const std::string& line = lines.front().name;
    finding.advice.push_back("torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) around each block" +
                             (line == kNoFramesRecorded ? "" : " that calls " + without_folders(line)));
  }
  return finding;
}

}  // namespace stepscope

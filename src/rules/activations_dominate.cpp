// activations-dominate: most of the peak is kept for the backward pass; checkpointing would trade it for computing
// twice.
//
// Symptom: memory grows with batch and sequence. Evidence: the category of what is live at the allocated peak.
// Threshold: half of the peak. Below it parameters, gradients and optimizer state are the larger part, and
// checkpointing cannot halve anything. The saving is a lower bound from the recording's own numbers: a model of n equal
// blocks (the number of times most activation bytes' lines repeat) keeps one tensor a block, taken to be the largest
// any line has, and one block's activations while it is computed again. Without such repetition no number is given.
// False alarm: a model that is checkpointed already keeps block inputs, which are activations too; n is then 1 or the
// saving 0, and no number is shown.
#include <algorithm>
#include <map>

#include "rules/memory_rules.h"
#include "rules/memory_wording.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kShare = 0.5;

struct Held {
  std::int64_t bytes = 0, largest_bytes = 0;
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
    held.largest_bytes = std::max(held.largest_bytes, all.requested_bytes[id]);
    held.is_inferred = held.is_inferred || all.category_source[id] == CategorySource::kInferred;
    held.allocations.push_back(id);
  }
  return held;
}

// How often most bytes' lines repeat: the count with most bytes behind it.
std::int64_t count_blocks(const std::vector<LiveGroup>& lines) {
  std::map<std::int64_t, std::int64_t> bytes_by_count;
  for (const LiveGroup& line : lines) bytes_by_count[line.count] += line.bytes;
  const auto most = std::max_element(bytes_by_count.begin(), bytes_by_count.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes_by_count.end() ? 0 : most->first;
}

}  // namespace

std::optional<MemoryFinding> find_activations_dominate(const MemoryRuleInput& input) {
  std::int64_t live_bytes = 0;
  const Held held = sum_activations(input, live_bytes);
  if (held.bytes <= 0 || static_cast<double>(held.bytes) < kShare * static_cast<double>(live_bytes)) {
    return std::nullopt;
  }
  const auto lines = group_live(input.snapshot, input.facts, held.allocations, LiveGrouping::kLine);
  MemoryFinding finding;
  finding.id = "activations-dominate";
  finding.severity = Severity::kNote;
  finding.title = format_percent(static_cast<double>(held.bytes) / static_cast<double>(live_bytes)) + " of the peak, " +
                  format_memory(held.bytes) + ", are activations kept for the backward pass";
  finding.evidence.push_back(
      {"Most by " + list_lines(lines, 3) + (held.is_inferred ? " (category inferred)." : "."), std::nullopt});
  const std::int64_t blocks = count_blocks(lines);
  const std::int64_t saving = blocks < 2 ? 0 : held.bytes - held.bytes / blocks - blocks * held.largest_bytes;
  if (saving > 0) {
    finding.saving_bytes = saving;
    finding.evidence.push_back({"Those lines repeat " + format_count(static_cast<double>(blocks)) +
                                    " times. One tensor kept for each (at most " + format_memory(held.largest_bytes) +
                                    ") and one block computed again: " + format_memory(held.bytes - saving) +
                                    " instead of " + format_memory(held.bytes) + ".",
                                std::nullopt});
    finding.gain = "the peak falls by at least " + format_memory(saving) + ", for about one more forward pass";
  }
  finding.advice.push_back(
      "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) around each block that calls " +
      without_folders(lines.front().name));
  return finding;
}

}  // namespace stepscope

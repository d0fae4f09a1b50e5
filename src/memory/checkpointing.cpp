// One pass over the allocations for the level of activations, one over the live set for its repetition.
#include "memory/checkpointing.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "memory/levels.h"

namespace stepscope {
namespace {

bool is_activation(const Allocations& all, AllocationId row) {
  return all.category_source[row] != CategorySource::kNone && all.category[row] == MemoryCategory::kActivation;
}

// What activations add to the allocated level at each moment.
std::vector<std::int64_t> sum_activations(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                          SnapshotDeviceId device) {
  const Allocations& all = facts.allocations;
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  std::vector<std::int64_t> level(entries.size() + 1, 0);
  const auto change = [&](SnapshotEntryId entry, std::int64_t bytes) {
    std::int64_t& at = level[entry.has_value() ? entry.value - entries.begin + 1 : 0];
    at = add_wrapping(at, bytes);
  };
  for (const AllocationId row : facts.devices[device].allocations.ids()) {
    if (!is_activation(all, row) || all.is_free_pending_at_start[row] != 0) continue;
    change(all.alloc_entry[row], all.size_bytes[row]);
    const SnapshotEntryId requested = all.free_requested_entry[row];
    const SnapshotEntryId gone = requested.has_value() ? requested : all.free_completed_entry[row];
    if (gone.has_value()) change(gone, subtract_wrapping(0, all.size_bytes[row]));
  }
  std::int64_t sum = 0;
  for (std::int64_t& each : level) each = sum = add_wrapping(sum, each);
  return level;
}

// A count is the number of blocks if its multiples have this share of all bytes that repeat; what is left repeats at
// the edges (copies of the logits, a layer before the blocks and one behind).
constexpr double kCoveringShare = 0.9;

struct Blocks {
  std::int64_t count = 0;          // 0: nothing repeats
  std::int64_t bytes = 0;          // of all blocks, stacks of a multiple included
  std::int64_t largest_bytes = 0;  // one tensor
  std::int64_t outside_bytes = 0;  // activations that do not repeat with them
};

struct StackSum {
  std::int64_t count = 0, bytes = 0, largest_bytes = 0;
};
using StackSums = std::map<std::string, StackSum>;

// Stacks as text, each made once. A trace names the instances of modules ("Block_0", a frame without a file): their
// numbers are left out, so that like blocks have like stacks.
class StackTexts {
 public:
  explicit StackTexts(const MemorySnapshot& snapshot) : snapshot_(snapshot) {}

  const std::string& of(SnapshotStackId stack) {
    std::string& text = texts_[stack.value];
    if (!text.empty() || !stack.has_value()) return text;
    for (const SnapshotFrameId frame : snapshot_.frames_of(stack)) text += describe(frame) + ';';
    return text;
  }

 private:
  [[nodiscard]] std::string describe(SnapshotFrameId frame) const {
    std::string words = describe_frame(snapshot_, frame);
    if (!snapshot_.text(snapshot_.frames.file[frame]).empty()) return words;
    const std::size_t last = words.find_last_not_of("0123456789");
    if (last != std::string::npos && last + 1 < words.size() && words[last] == '_') words.resize(last);
    return words;
  }
  const MemorySnapshot& snapshot_;
  std::map<std::uint32_t, std::string> texts_;
};

StackSums sum_stacks(const Allocations& all, std::span<const AllocationId> live, StackTexts& texts) {
  StackSums stacks;
  for (const AllocationId row : live) {
    if (!is_activation(all, row)) continue;
    StackSum& stack = stacks[texts.of(all.stack[row])];
    ++stack.count;
    stack.bytes = add_wrapping(stack.bytes, all.size_bytes[row]);
    stack.largest_bytes = std::max(stack.largest_bytes, all.size_bytes[row]);
  }
  return stacks;
}

// As if the model had `count` blocks: a stack that a block passes twice has twice the count.
Blocks blocks_of(const StackSums& stacks, std::int64_t count) {
  Blocks blocks;
  blocks.count = count;
  for (const auto& [text, stack] : stacks) {
    if (stack.count % count != 0) {
      blocks.outside_bytes = add_wrapping(blocks.outside_bytes, stack.bytes);
      continue;
    }
    blocks.bytes = add_wrapping(blocks.bytes, stack.bytes);
    blocks.largest_bytes = std::max(blocks.largest_bytes, stack.largest_bytes);
  }
  return blocks;
}

// The largest count that covers nearly all, since every divisor of it does too; else the one that covers most.
Blocks find_blocks(const StackSums& stacks) {
  std::set<std::int64_t> counts;
  std::int64_t repeating_bytes = 0;
  for (const auto& [text, stack] : stacks) {
    if (stack.count < 2) continue;
    counts.insert(stack.count);
    repeating_bytes = add_wrapping(repeating_bytes, stack.bytes);
  }
  Blocks best;
  for (const std::int64_t count : counts) {
    const Blocks blocks = blocks_of(stacks, count);
    const bool covers = static_cast<double>(blocks.bytes) >= kCoveringShare * static_cast<double>(repeating_bytes);
    if (covers || blocks.bytes > best.bytes) best = blocks;
  }
  return best;
}

// Sums of sizes that a damaged file made up may pass 2^63.
std::int64_t multiply_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Segments of `together` blocks. What goes into the first is outside the blocks and counted there.
CheckpointPlan plan_of(const Blocks& blocks, std::int64_t together) {
  const std::int64_t segments = (blocks.count + together - 1) / together;
  const std::int64_t block_bytes = blocks.bytes / blocks.count + (blocks.bytes % blocks.count > 0 ? 1 : 0);
  CheckpointPlan plan;
  plan.block_count = blocks.count;
  plan.blocks_together = together;
  plan.block_bytes = blocks.bytes;
  plan.outside_bytes = blocks.outside_bytes;
  plan.kept_bytes = add_wrapping(blocks.outside_bytes, multiply_wrapping(segments - 1, blocks.largest_bytes));
  plan.recomputed_bytes = multiply_wrapping(block_bytes, together);
  return plan;
}

}  // namespace

CheckpointEstimate estimate_checkpointing(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                          SnapshotDeviceId device, std::span<const AllocationId> live_at_peak) {
  CheckpointEstimate estimate;
  const std::vector<std::int64_t> activations = sum_activations(snapshot, facts, device);
  const std::vector<std::int64_t> allocated = compute_level(snapshot, facts, device, MemoryLevelKind::kAllocated);
  // The highest level if activations took no more than `most`.
  const auto peak_with = [&](std::int64_t most) {
    std::int64_t peak = 0;
    for (std::size_t at = 0; at < allocated.size(); ++at) {
      const std::int64_t rest = subtract_wrapping(allocated[at], activations[at]);
      peak = std::max(peak, add_wrapping(rest, std::min(activations[at], most)));
    }
    return peak;
  };
  for (const AllocationId row : live_at_peak) {
    if (!is_activation(facts.allocations, row)) continue;
    estimate.activation_bytes = add_wrapping(estimate.activation_bytes, facts.allocations.size_bytes[row]);
  }
  estimate.peak_bytes = *std::max_element(allocated.begin(), allocated.end());
  estimate.peak_without_bytes = peak_with(0);

  StackTexts texts(snapshot);
  const StackSums stacks = sum_stacks(facts.allocations, live_at_peak, texts);
  const Blocks blocks = find_blocks(stacks);
  const auto held = [](const CheckpointPlan& plan) { return add_wrapping(plan.kept_bytes, plan.recomputed_bytes); };
  std::optional<CheckpointPlan> best;
  for (std::int64_t together = 1; together < blocks.count; ++together) {
    const CheckpointPlan plan = plan_of(blocks, together);
    if (!best || held(plan) < held(*best)) best = plan;
  }
  if (!best) return estimate;
  best->peak_bytes = peak_with(held(*best));
  if (best->peak_bytes >= estimate.peak_bytes) return estimate;
  for (const AllocationId row : live_at_peak) {
    if (!is_activation(facts.allocations, row)) continue;
    const std::int64_t count = stacks.at(texts.of(facts.allocations.stack[row])).count;
    if (count % blocks.count == 0) best->in_blocks.push_back(row);
  }
  estimate.plan = std::move(best);
  return estimate;
}

}  // namespace stepscope

// What activation checkpointing would do to the allocated peak, by the recording's own numbers.
//
// Checkpointing keeps one tensor a segment of the model and computes the rest again, a segment at a time, in backward.
// What the model's segments are is not in a snapshot; but a model of n like blocks allocates from the same stacks n
// times, or a multiple of n: n is the largest number that nearly all that repeats is a multiple of, and a segment can
// be one block or several. With segments of s blocks, at most (n/s - 1) tensors stay and s blocks are held at once. The
// tensor that stays is taken to be the largest of the block (its real input is often smaller), so the estimate errs
// towards a small saving. The level of everything else at every moment is known, so the new peak is the highest of that
// level with activations capped: it may lie elsewhere, in the optimizer for example. Rejected: the share of activations
// as the saving (what the peak shrinks to is set by what remains); n as the commonest count (a block of solid4_stack
// passes most of its stacks twice or more); cutting anywhere (a residual branch crosses the cut). Not modelled:
// short-lived tensors of the second forward pass, which then meet gradients.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "memory/facts.h"

namespace stepscope {

struct CheckpointPlan {
  std::int64_t block_count = 0;       // how often their stacks repeat
  std::int64_t blocks_together = 0;   // in one segment: what brings the lowest peak
  std::int64_t block_bytes = 0;       // activations of all blocks
  std::int64_t outside_bytes = 0;     // those that do not repeat with them
  std::int64_t kept_bytes = 0;        // outside_bytes, and one tensor a segment
  std::int64_t recomputed_bytes = 0;  // of one segment, held while its backward runs
  std::int64_t peak_bytes = 0;        // allocated
  std::vector<AllocationId> in_blocks;
};

struct CheckpointEstimate {
  std::int64_t activation_bytes = 0;    // of blocks held at the allocated peak
  std::int64_t peak_bytes = 0;          // as recorded
  std::int64_t peak_without_bytes = 0;  // of everything else at its own highest: no checkpointing goes below
  std::optional<CheckpointPlan> plan;   // missing: nothing repeats, or nothing is saved
};

// `live_at_peak`: find_live at the allocated peak. Categories must be known; of unknown ones nothing is said.
[[nodiscard]] CheckpointEstimate estimate_checkpointing(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                        SnapshotDeviceId device,
                                                        std::span<const AllocationId> live_at_peak);

}  // namespace stepscope

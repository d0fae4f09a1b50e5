// Joins the backward pass to the forward operators that caused it.
//
// Autograd numbers its nodes; a forward operator carries the number that its node got, the backward operator the same
// number (`Sequence number`) and the profiler's number of the forward thread (`Fwd thread id`, > 0). Operators that
// make no node carry the next number too, so of the forward operators with one number the last one made the node.
// Where numbers are missing, or two threads used the same, the `fwdbwd` arrow of the file decides. What the engine
// itself launches around a node (it sums a bias's gradient once the node has ended) is that node's work. PyTorch's
// traces give the engine's operator the node's number; where it has none, as in captures, it has the link of the node
// inside it.
#pragma once

#include "trace/trace.h"

namespace stepscope {

struct BackwardLinks {
  Column<OpId, std::uint8_t> is_backward;    // inside a backward operator, recomputed forward work included
  Column<OpId, std::uint8_t> is_recomputed;  // forward work inside backward: activation recomputation
  Column<OpId, OpId> forward;                // of an operator inside backward; empty when not known
};

// The forward column is left empty when `join` is false: the two flags alone cost one pass.
[[nodiscard]] BackwardLinks compute_backward_links(const Trace& trace, bool join = true);

}  // namespace stepscope

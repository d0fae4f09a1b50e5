// PyTorch gives an operator a sequence number when it runs with gradients on, so those outside backward that have one
// are forward, with all inside them; the optimizer runs without gradients and has none. Rejected: the place between the
// step's begin and the first backward operator, which takes the data's copies for forward and misses what runs later.
#include "analyze/forward_time.h"

#include "analyze/backward_links.h"

namespace stepscope {

std::optional<double> compute_forward_gpu_ratio(const Trace& trace) {
  const BackwardLinks links = compute_backward_links(trace, false);
  std::vector<std::uint8_t> is_forward(trace.ops.size(), 0);
  bool has_backward = false;
  for (const OpId op : trace.ops.ids().ids()) {  // parents come before children
    if (links.is_backward[op] != 0) {
      has_backward = true;
      continue;
    }
    const OpId parent = trace.ops.parent[op];
    const bool is_inside = parent.has_value() && is_forward[parent.value] != 0;
    is_forward[op.value] = is_inside || trace.ops.sequence[op].value_or(-1) >= 0 ? 1 : 0;
  }
  double forward_ns = 0;  // sums of a damaged file's durations may pass 2^63
  double all_ns = 0;
  for (const GpuEventId event : trace.gpu_events.ids().ids()) {
    if (trace.gpu_events.fault[event] != TimeFault::kNone) continue;
    const auto duration_ns = static_cast<double>(trace.gpu_events.end_ns[event] - trace.gpu_events.start_ns[event]);
    all_ns += duration_ns;
    const OpId op = trace.gpu_events.op[event];
    if (op.has_value() && is_forward[op.value] != 0) forward_ns += duration_ns;
  }
  if (!has_backward || forward_ns <= 0 || all_ns <= 0) return std::nullopt;
  return forward_ns / all_ns;
}

}  // namespace stepscope

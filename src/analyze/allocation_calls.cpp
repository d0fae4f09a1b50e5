// One pass over the calls' kind column; only the few that allocate or free look up their step. Pinned host memory
// (cudaHostAlloc) is allocation too, but it is no growth of the device's pool, so it is left out here.
#include "analyze/allocation_calls.h"

namespace stepscope {

AllocationCalls compute_allocation_calls(const Trace& trace, const Steps& steps) {
  AllocationCalls out;
  out.allocations_by_step_count.assign(steps.steps.size(), 0);
  out.frees_by_step_count.assign(steps.steps.size(), 0);
  const Calls& calls = trace.calls;
  DurationNs longest = -1;
  for (const CallId id : calls.ids().ids()) {
    const ApiKind kind = calls.kind[id];
    if (kind != ApiKind::kAllocate && kind != ApiKind::kFree) continue;
    if (trace.text(calls.name[id]).find("Host") != std::string_view::npos) continue;
    const auto step = steps.find_by_host_time(calls.start_ns[id]);
    if (!step) continue;
    const DurationNs length = calls.end_ns[id] - calls.start_ns[id];
    out.call_sum_ns += length;
    if (kind == ApiKind::kAllocate) {
      ++out.allocation_count;
      ++out.allocations_by_step_count[*step];
    } else {
      ++out.free_count;
      ++out.frees_by_step_count[*step];
    }
    if (length > longest) {
      longest = length;
      out.longest = id;
    }
  }
  return out;
}

}  // namespace stepscope

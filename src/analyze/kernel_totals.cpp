// A kernel name is a row of the string pool, so the sums stand in a plain array with one slot for each string: no
// hashing, and 3 M events take about 10 ms.
#include "analyze/kernel_totals.h"

#include <algorithm>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

bool in_window(const Steps& steps, TimeNs start_ns) { return steps.counts_at_gpu_time(start_ns); }

}  // namespace

std::vector<KernelTotal> compute_kernel_totals(const Trace& trace, const GpuTimeline& timeline,
                                               const KernelClasses& classes, const Steps& steps, DeviceId device) {
  const GpuEvents& events = trace.gpu_events;
  std::vector<std::uint32_t> slot_of_name(trace.strings.size(), 0);  // slot + 1; 0 = none yet
  std::vector<KernelTotal> totals;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (!in_window(steps, events.start_ns[id]) || !timeline.counts(trace, id)) continue;
    std::uint32_t& slot = slot_of_name[events.name[id].value];
    if (slot == 0) {
      totals.push_back({events.name[id], classes.of[id], 0, 0});
      slot = static_cast<std::uint32_t>(totals.size());
    }
    ++totals[slot - 1].count;
    totals[slot - 1].gpu_sum_ns += timeline.end_ns[id] - events.start_ns[id];
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const KernelTotal& a, const KernelTotal& b) { return a.gpu_sum_ns > b.gpu_sum_ns; });
  return totals;
}

OptimizerKernels compute_optimizer_kernels(const Trace& trace, const GpuTimeline& timeline,
                                           const KernelClasses& classes, const Steps& steps, DeviceId device) {
  const GpuEvents& events = trace.gpu_events;
  OptimizerKernels out;
  std::vector<std::int64_t> durations;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (classes.of[id] != KernelClass::kOptimizer || events.kind[id] != GpuEventKind::kKernel) continue;
    if (!in_window(steps, events.start_ns[id]) || !timeline.counts(trace, id)) continue;
    const CallId call = events.call[id];
    if (call.has_value() && trace.calls.gpu_count[call] > 1) continue;
    durations.push_back(timeline.end_ns[id] - events.start_ns[id]);
    out.gpu_sum_ns += durations.back();
  }
  out.count = static_cast<std::int64_t>(durations.size());
  out.median_ns = median_ns(durations);
  return out;
}

}  // namespace stepscope

// One pass over the GPU events. A swallowing event's recorded end is wrong, so the effective end is used: it is
// earlier, hence an event that lasts "too long" cannot hide that its call returned first.
#include "analyze/launch_returns.h"

namespace stepscope {

LaunchReturns compute_launch_returns(const Trace& trace, const GpuTimeline& timeline, Interval window) {
  constexpr DurationNs kLongEnough = 20'000;
  LaunchReturns out;
  const GpuEvents& events = trace.gpu_events;
  for (const GpuEventId id : events.ids().ids()) {
    const TimeNs start = events.start_ns[id];
    if (start < window.start_ns || start >= window.end_ns) continue;
    if (events.kind[id] != GpuEventKind::kKernel || !timeline.counts(trace, id)) continue;
    if (timeline.end_ns[id] - start <= kLongEnough) continue;
    const CallId call = events.call[id];
    if (!call.has_value() || trace.calls.gpu_count[call] != 1) continue;
    if (start < trace.calls.start_ns[call]) continue;  // the clocks disagree, so the call's end says nothing
    ++out.kernel_count;
    if (trace.calls.end_ns[call] >= timeline.end_ns[id]) ++out.ended_first_count;
  }
  return out;
}

}  // namespace stepscope

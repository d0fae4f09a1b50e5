// Gaps are what the busy union (and what was not recorded) leaves of the window; two pointers, one over the union, one
// over the device's events.
//
// The host was late unless the launch call began more than two launch latencies before the gap: with one
// latency of slack, since half of all launches take longer than the median, and a late launch taken for a kernel gap
// would hide the host's work. Several events may start at the gap's end; the first launched one ended it.
#include "analyze/device_gaps.h"

#include <algorithm>

namespace stepscope {

GapReader::GapReader(const Trace& trace, const GpuTimeline& timeline, const Launches& launches, const Steps& steps,
                     const DeviceBusy& busy)
    : trace_(trace),
      timeline_(timeline),
      launches_(launches),
      steps_(steps),
      busy_(busy.busy),
      now_(steps.window.start_ns),
      events_(trace.gpu_events_of_device[busy.device]) {
  if (steps.unrecorded.empty()) return;
  covered_ = steps.unrecorded;
  covered_.insert(covered_.end(), busy.busy.begin(), busy.busy.end());
  covered_ = union_of(std::move(covered_));
}

bool GapReader::next_interval(Interval& at) {
  const TimeNs window_end = steps_.window.end_ns;
  while (now_ < window_end) {
    at.start_ns = now_;
    if (busy_at_ < covered().size()) {
      at.end_ns = std::min(covered()[busy_at_].start_ns, window_end);
      now_ = std::max(now_, covered()[busy_at_++].end_ns);
    } else {
      at.end_ns = window_end;
      now_ = window_end;
    }
    if (at.end_ns > at.start_ns) return true;
  }
  return false;
}

std::optional<GpuEventId> GapReader::find_ending_event(TimeNs time_ns) {
  const auto& events = trace_.gpu_events;
  while (!events_.empty() && events.start_ns[GpuEventId(events_.begin)] < time_ns) ++events_.begin;
  std::optional<GpuEventId> best;
  for (const GpuEventId event : events_.ids()) {
    if (events.start_ns[event] != time_ns) break;
    if (!timeline_.counts(trace_, event) || timeline_.end_ns[event] <= time_ns) continue;
    const CallId call = events.call[event];
    const bool earlier =
        best && call.has_value() &&
        (!events.call[*best].has_value() || trace_.calls.start_ns[call] < trace_.calls.start_ns[events.call[*best]]);
    if (!best || earlier) best = event;
  }
  return best;
}

void GapReader::explain(DeviceGap& gap) const {
  gap.call = gap.ended_by ? trace_.gpu_events.call[*gap.ended_by] : CallId();
  if (!gap.call.has_value()) {
    gap.cause = gap.ended_by ? GapCause::kUnlinked : GapCause::kHostLate;
    gap.thread = steps_.main_thread;
    gap.launch_ns = gap.at.end_ns;
    return;
  }
  gap.thread = trace_.calls.thread[gap.call];
  gap.launch_ns = trace_.calls.start_ns[gap.call];
  const bool graph = trace_.calls.gpu_count[gap.call] > 1;
  const DurationNs slack_ns = 2 * std::clamp<DurationNs>(launches_.latency_ns(graph), 0, 10'000'000);
  gap.cause = gap.launch_ns < gap.at.start_ns - slack_ns ? GapCause::kKernelGap : GapCause::kHostLate;
}

bool GapReader::next(DeviceGap& gap) {
  if (!next_interval(gap.at)) return false;
  gap.ended_by.reset();
  if (gap.at.end_ns < steps_.window.end_ns) gap.ended_by = find_ending_event(gap.at.end_ns);
  explain(gap);
  return true;
}

}  // namespace stepscope

// When each GPU event really ended: the effective end that every account uses.
//
// CUPTI sometimes writes a duration that wholly contains later work of the same stream; work of one stream
// cannot overlap so, hence such an event is ended at the next start of its stream. A partial overlap is real
// (programmatic dependent launch) and stays. Events with bad durations and duplicates count nothing.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace stepscope {

struct GpuTimeline {
  Column<GpuEventId, TimeNs> end_ns;   // effective end; == start_ns for events that count nothing
  std::vector<GpuEventId> swallowing;  // events whose end was clipped, in table order
  [[nodiscard]] bool counts(const Trace& trace, GpuEventId id) const {
    return trace.gpu_events.fault[id] == TimeFault::kNone;
  }
};

[[nodiscard]] GpuTimeline compute_gpu_timeline(const Trace& trace);

}  // namespace stepscope

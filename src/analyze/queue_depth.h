// How many launches wait or run at each instant. A graph launch is one, until its last event ends.
//
// The mean needs no order: it is the sum of the lives over the length of the span. Only the maximum and the drawing
// need both edges sorted; they are nearly so, since a thread launches in order and a stream ends in order.
#pragma once

#include "analyze/launches.h"

namespace stepscope {

struct QueueDepth {
  std::int64_t max_count = 0;
  std::optional<double> mean;  // missing when nothing was launched
};

[[nodiscard]] QueueDepth compute_queue_depth_summary(const Trace& trace, const GpuTimeline& timeline,
                                                     std::optional<DeviceId> device);

}  // namespace stepscope

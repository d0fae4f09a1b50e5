// From launch call to GPU: latencies, what a launch starts, how deep the queue is.
//
// Launch latency = GPU start - call start, signed: a negative one is clock skew and is counted, never folded.
// Only the first event of a graph launch has a latency.
#pragma once

#include <optional>

#include "analyze/gpu_timeline.h"

namespace stepscope {

struct QueueSample {
  TimeNs time_ns = 0;
  std::int64_t depth_count = 0;  // launched and not yet ended
};

struct Launches {
  // L of findings.md section 1: median latency of launches that found their stream empty. Missing when there is none.
  std::optional<DurationNs> plain_latency_ns;
  std::optional<DurationNs> graph_latency_ns;
  [[nodiscard]] DurationNs latency_ns(bool graph) const;  // with the fallback of 6 us (plain) when unknown

  std::int64_t launch_count = 0;   // calls that launch work (kernels, graphs, copies, sets)
  std::int64_t latency_count = 0;  // launches with a latency
  std::int64_t negative_latency_count = 0;
  std::optional<DurationNs> median_latency_ns, min_latency_ns, p90_latency_ns;
  std::int64_t graph_launch_count = 0;  // launches of a graph, or of more than one event
  std::int64_t graph_event_count = 0;   // events that came from those
  std::int64_t short_kernel_count = 0;  // kernels shorter than 10 us (about one launch)
  std::int64_t kernel_count = 0;
  std::optional<DurationNs> median_kernel_ns;
  std::int64_t max_queue_depth_count = 0;
  std::optional<double> mean_queue_depth;  // over time, in the span from the first launch to the last event
};

// With `device`, of what runs on that one alone; a launch of which no event is known is then of none.
[[nodiscard]] Launches compute_launches(const Trace& trace, const GpuTimeline& timeline,
                                        std::optional<DeviceId> device = std::nullopt);

// Does the call launch work on the GPU, by its kind or because GPU events say so?
[[nodiscard]] bool launches_work(const Trace& trace, CallId call);
// Should it have GPU events? Not a copy or set without one: of zero bytes they leave no record.
[[nodiscard]] bool expects_gpu_events(const Trace& trace, CallId call);
// Its first GPU event; empty when there is none.
[[nodiscard]] GpuEventId first_event_of(const Trace& trace, CallId call);
// A call that launched a whole graph (or anything of more than one event). False when its events are lost.
[[nodiscard]] bool is_graph_launch(const Trace& trace, CallId call);

// Depth over time at each change, for drawing. One sample for each launch and end.
[[nodiscard]] std::vector<QueueSample> compute_queue_depth(const Trace& trace, const GpuTimeline& timeline);

}  // namespace stepscope

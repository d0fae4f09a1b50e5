// Edges are two sorted arrays, walked together like a merge.
#include "analyze/queue_depth.h"

#include <algorithm>

#include "analyze/sort_runs.h"

namespace stepscope {
namespace {

struct Edges {
  std::vector<TimeNs> begins;  // launch calls
  std::vector<TimeNs> ends;    // the last event of each
  double life_ns = 0;          // sum of end - begin
};

Edges collect_edges(const Trace& trace, const GpuTimeline& timeline, std::optional<DeviceId> device) {
  Edges edges;
  for (const CallId call : trace.calls.ids().ids()) {
    if (trace.calls.gpu_count[call] == 0) continue;
    const TimeNs begin = trace.calls.start_ns[call];
    TimeNs end = begin;
    bool any = false;
    for (const GpuEventId id : trace.gpu_events_of(call)) {
      if (device && trace.gpu_events.device[id] != *device) continue;
      any = true;
      end = std::max(end, timeline.end_ns[id]);
    }
    if (!any) continue;
    edges.begins.push_back(begin);
    edges.ends.push_back(end);
    edges.life_ns += static_cast<double>(end - begin);
  }
  sort_runs(edges.begins);
  sort_runs(edges.ends);
  return edges;
}

// visit(time, depth) at each edge; of equal times ends come first, so that a queue of one never reads two.
template <class Visit>
void walk(const Edges& edges, Visit&& visit) {
  std::size_t begun = 0;
  std::size_t ended = 0;
  while (ended < edges.ends.size()) {
    const bool ends_first = begun == edges.begins.size() || edges.ends[ended] <= edges.begins[begun];
    const bool can_end = ended < begun;  // a launch of length 0 begins before it ends
    const TimeNs at = ends_first && can_end ? edges.ends[ended++] : edges.begins[begun++];
    visit(at, static_cast<std::int64_t>(begun - ended));
  }
}

}  // namespace

QueueDepth compute_queue_depth_summary(const Trace& trace, const GpuTimeline& timeline,
                                       std::optional<DeviceId> device) {
  const Edges edges = collect_edges(trace, timeline, device);
  QueueDepth depth;
  if (edges.begins.empty()) return depth;
  walk(edges, [&](TimeNs, std::int64_t count) { depth.max_count = std::max(depth.max_count, count); });
  const auto span = static_cast<double>(edges.ends.back() - edges.begins.front());
  if (span > 0) depth.mean = edges.life_ns / span;
  return depth;
}

std::vector<QueueSample> compute_queue_depth(const Trace& trace, const GpuTimeline& timeline) {
  const Edges edges = collect_edges(trace, timeline, std::nullopt);
  std::vector<QueueSample> samples;
  samples.reserve(edges.begins.size() * 2);
  walk(edges, [&](TimeNs at, std::int64_t count) { samples.push_back({at, count}); });
  return samples;
}

}  // namespace stepscope

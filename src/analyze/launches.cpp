// Latencies and kernel lengths in one pass over the calls, one over the GPU events.
//
// "Found its stream empty" needs an earlier event of the stream in the file: the first event of a stream may stand
// behind work that was queued before recording began, and its latency would measure that. Negative latencies are
// counted and kept out of L, which is a property of the machine; they stay in the printed statistics.
#include "analyze/launches.h"

#include <algorithm>
#include <limits>

#include "analyze/queue_depth.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// A kernel shorter than this costs about as much to launch as to run (launches cost 5 to 10 us on the recordings).
constexpr DurationNs kShortKernelNs = 10'000;
// L when no launch was seen to find its stream empty: the usual figure for one launch on an idle GPU.
constexpr DurationNs kFallbackLatencyNs = 6'000;

struct Samples {
  std::vector<DurationNs> all;
  std::vector<DurationNs> plain_on_empty_stream;
  std::vector<DurationNs> graph_on_empty_stream;
  std::vector<DurationNs> kernels;
};

// For each event: did everything before it on its stream end by the time its launch call began?
void sample_latencies(const Trace& trace, const GpuTimeline& timeline, std::optional<DeviceId> device,
                      Samples& samples) {
  constexpr TimeNs kNothingYet = std::numeric_limits<TimeNs>::min();
  const GpuEvents& events = trace.gpu_events;
  std::vector<TimeNs> stream_end(trace.streams.size(), kNothingYet);
  for (const GpuEventId id : events.ids().ids()) {
    if (events.fault[id] == TimeFault::kDuplicate || (device && events.device[id] != *device)) continue;
    const TimeNs start = events.start_ns[id];
    TimeNs& last_end = stream_end[events.stream[id].value];
    const CallId call = events.call[id];
    if (call.has_value() && first_event_of(trace, call) == id) {
      const TimeNs called = trace.calls.start_ns[call];
      const DurationNs latency = start - called;
      samples.all.push_back(latency);
      if (last_end != kNothingYet && last_end <= called && latency >= 0) {
        const bool graph = is_graph_launch(trace, call);
        (graph ? samples.graph_on_empty_stream : samples.plain_on_empty_stream).push_back(latency);
      }
    }
    last_end = std::max(last_end, timeline.end_ns[id]);
    if (events.kind[id] == GpuEventKind::kKernel && timeline.counts(trace, id)) {
      samples.kernels.push_back(timeline.end_ns[id] - start);
    }
  }
}

// A graph may have events on several devices.
std::int64_t count_events(const Trace& trace, CallId call, std::optional<DeviceId> device) {
  if (!device) return trace.calls.gpu_count[call];
  const auto events = trace.gpu_events_of(call);
  return std::count_if(events.begin(), events.end(),
                       [&](GpuEventId id) { return trace.gpu_events.device[id] == *device; });
}

void count_launches(const Trace& trace, std::optional<DeviceId> device, Launches& launches) {
  for (const CallId call : trace.calls.ids().ids()) {
    if (!launches_work(trace, call)) continue;
    const std::int64_t event_count = count_events(trace, call, device);
    if (device && event_count == 0) continue;
    ++launches.launch_count;
    if (!is_graph_launch(trace, call)) continue;
    ++launches.graph_launch_count;
    launches.graph_event_count += event_count;
  }
}

}  // namespace

bool launches_work(const Trace& trace, CallId call) {
  const ApiKind kind = trace.calls.kind[call];
  return kind == ApiKind::kLaunch || kind == ApiKind::kGraphLaunch || kind == ApiKind::kCopy || kind == ApiKind::kSet ||
         trace.calls.gpu_count[call] > 0;
}

bool expects_gpu_events(const Trace& trace, CallId call) {
  const ApiKind kind = trace.calls.kind[call];
  return kind == ApiKind::kLaunch || kind == ApiKind::kGraphLaunch || trace.calls.gpu_count[call] > 0;
}

GpuEventId first_event_of(const Trace& trace, CallId call) {
  return trace.calls.gpu_count[call] == 0 ? GpuEventId{} : trace.gpu_events_of(call)[0];
}

bool is_graph_launch(const Trace& trace, CallId call) {
  const std::uint32_t count = trace.calls.gpu_count[call];
  return count > 1 || (count == 1 && trace.calls.kind[call] == ApiKind::kGraphLaunch);
}

DurationNs Launches::latency_ns(bool graph) const {
  if (graph && graph_latency_ns) return *graph_latency_ns;
  return plain_latency_ns.value_or(kFallbackLatencyNs);
}

Launches compute_launches(const Trace& trace, const GpuTimeline& timeline, std::optional<DeviceId> device) {
  Launches launches;
  count_launches(trace, device, launches);
  Samples samples;
  sample_latencies(trace, timeline, device, samples);
  launches.plain_latency_ns = median_ns(samples.plain_on_empty_stream);
  launches.graph_latency_ns = median_ns(samples.graph_on_empty_stream);
  launches.latency_count = static_cast<std::int64_t>(samples.all.size());
  for (const DurationNs each : samples.all) launches.negative_latency_count += each < 0 ? 1 : 0;
  launches.median_latency_ns = median_ns(samples.all);
  launches.p90_latency_ns = quantile_ns(samples.all, 0.9);
  if (!samples.all.empty()) launches.min_latency_ns = *std::min_element(samples.all.begin(), samples.all.end());
  launches.kernel_count = static_cast<std::int64_t>(samples.kernels.size());
  for (const DurationNs each : samples.kernels) launches.short_kernel_count += each < kShortKernelNs ? 1 : 0;
  launches.median_kernel_ns = median_ns(samples.kernels);
  const QueueDepth depth = compute_queue_depth_summary(trace, timeline, device);
  launches.max_queue_depth_count = depth.max_count;
  launches.mean_queue_depth = depth.mean;
  return launches;
}

}  // namespace stepscope

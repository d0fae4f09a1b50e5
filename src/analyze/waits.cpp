// What a blocking call waited for is not in the file; it is inferred from what had been launched (findings.md section
// 2).
//
// Stream synchronization: the last work on the stream of the thread's latest launch. Event synchronization: the work
// launched before the thread's latest record. Device synchronization and cudaFree: everything on the device.
// A copy that returned after its own end: that copy. A condition that ends more than 2 us after the call
// returned is refuted (the clocks of host and GPU agree to about 1 us on the recordings), and the next best is taken.
// Taking every synchronization as a wait was rejected: most of those at a step's end return at once.
#include "analyze/waits.h"

#include <algorithm>

#include "analyze/launched_work.h"

namespace stepscope {
namespace {

constexpr DurationNs kClockSlackNs = 2'000;
// A pageable copy's own wait is a synchronization call right behind it.
constexpr DurationNs kPageableSlackNs = 20'000;

std::optional<WaitKind> wait_kind_of(const Trace& trace, CallId call) {
  switch (trace.calls.kind[call]) {
    case ApiKind::kStreamSync:
      return WaitKind::kStream;
    case ApiKind::kEventSync:
      return WaitKind::kEvent;
    case ApiKind::kDeviceSync:
      return WaitKind::kDevice;
    case ApiKind::kFree:
      return WaitKind::kFree;
    case ApiKind::kCopy:
      if (outlasted_its_copy(trace, call)) return WaitKind::kCopy;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// A wait, and what decides its condition.
struct Pending {
  Wait wait;
  StreamId stream;         // kStream and kEvent; empty when the thread had launched nothing
  DeviceId device;         // kDevice and kFree; likewise
  TimeNs launched_by = 0;  // only work launched before this
};

// Follows one thread's calls in order.
class ThreadReader {
 public:
  explicit ThreadReader(const Trace& trace) : trace_(trace) {}

  void read(CallId call, std::vector<Pending>& out) {
    if (const auto kind = wait_kind_of(trace_, call)) out.push_back(pending(call, *kind));
    if (trace_.calls.gpu_count[call] > 0) {
      latest_launch_ = call;
    } else if (trace_.calls.kind[call] == ApiKind::kEventRecord) {
      latest_record_ = call;
      launch_before_record_ = latest_launch_;
    }
  }

 private:
  Pending pending(CallId call, WaitKind kind) const {
    Pending made;
    made.wait.call = call;
    made.wait.kind = kind;
    made.launched_by = trace_.calls.start_ns[call];
    if (kind == WaitKind::kStream) made.stream = stream_of(latest_launch_);
    if (kind == WaitKind::kEvent && latest_record_.has_value()) {
      made.stream = stream_of(launch_before_record_);
      made.launched_by = trace_.calls.start_ns[latest_record_];
    }
    if (kind == WaitKind::kDevice || kind == WaitKind::kFree) made.device = device_of(latest_launch_);
    made.wait.after_pageable_copy = follows_pageable_copy(call);
    return made;
  }
  StreamId stream_of(CallId launch) const {
    return launch.has_value() ? trace_.gpu_events.stream[trace_.gpu_events_of(launch)[0]] : StreamId();
  }
  DeviceId device_of(CallId launch) const {
    return launch.has_value() ? trace_.gpu_events.device[trace_.gpu_events_of(launch)[0]] : DeviceId();
  }
  bool follows_pageable_copy(CallId call) const {
    if (!latest_launch_.has_value()) return false;
    const DurationNs since_ns = trace_.calls.start_ns[call] - trace_.calls.end_ns[latest_launch_];
    const GpuEventId event = trace_.gpu_events_of(latest_launch_)[0];
    return since_ns >= 0 && since_ns < kPageableSlackNs && trace_.gpu_events.kind[event] == GpuEventKind::kCopy &&
           trace_.text(trace_.gpu_events.name[event]).find("Pageable -> Device") != std::string_view::npos;
  }

  const Trace& trace_;
  CallId latest_launch_, latest_record_, launch_before_record_;
};

std::vector<Pending> collect_waits(const Trace& trace) {
  std::vector<Pending> all;
  for (const ThreadId thread : trace.threads.ids().ids()) {
    ThreadReader reader(trace);
    for (const CallId call : trace.calls_of_thread[thread].ids()) reader.read(call, all);
  }
  return all;
}

// The stream with the most kernels: where work goes when nothing says better.
StreamId busiest_stream(const Trace& trace) {
  std::vector<std::uint32_t> kernels(trace.streams.size());
  for (const GpuEventId event : trace.gpu_events.ids().ids()) {
    if (trace.gpu_events.kind[event] == GpuEventKind::kKernel) ++kernels[trace.gpu_events.stream[event].value];
  }
  const auto most = std::max_element(kernels.begin(), kernels.end());
  return most == kernels.end() ? StreamId() : StreamId(static_cast<std::size_t>(most - kernels.begin()));
}

// Launched work of the streams and devices that some wait asks about; the others stay empty.
class WorkIndex {
 public:
  WorkIndex(const Trace& trace, const GpuTimeline& timeline, const std::vector<Pending>& waits)
      : timeline_(timeline), by_stream_(trace.streams.size()), by_device_(trace.devices.size()) {
    std::vector<bool> streams(trace.streams.size()), devices(trace.devices.size());
    for (const Pending& pending : waits) {
      if (pending.stream.has_value()) streams[pending.stream.value] = true;
      if (pending.device.has_value()) devices[pending.device.value] = true;
    }
    const auto& events = trace.gpu_events;
    for (const GpuEventId event : events.ids().ids()) {
      if (!events.call[event].has_value() || !timeline.counts(trace, event)) continue;
      const TimeNs launch_ns = trace.calls.start_ns[events.call[event]];
      if (streams[events.stream[event].value]) by_stream_[events.stream[event].value].add(launch_ns, event);
      if (devices[events.device[event].value]) by_device_[events.device[event].value].add(launch_ns, event);
    }
    for (LaunchedWork& work : by_stream_) work.finish(timeline);
    for (LaunchedWork& work : by_device_) work.finish(timeline);
  }

  [[nodiscard]] std::optional<GpuEventId> find_condition(const Pending& pending, TimeNs limit_ns) const {
    if (pending.stream.has_value()) {
      return by_stream_[pending.stream.value].find_last(timeline_, pending.launched_by, limit_ns);
    }
    if (!pending.device.has_value()) return std::nullopt;
    return by_device_[pending.device.value].find_last(timeline_, pending.launched_by, limit_ns);
  }

 private:
  const GpuTimeline& timeline_;
  std::vector<LaunchedWork> by_stream_, by_device_;
};

// The copy that a blocking copy call waited for: of its events that ended before it returned, the last.
std::optional<GpuEventId> find_own_copy(const Trace& trace, const GpuTimeline& timeline, CallId call) {
  std::optional<GpuEventId> last;
  for (const GpuEventId event : trace.gpu_events_of(call)) {
    if (!timeline.counts(trace, event) || timeline.end_ns[event] > trace.calls.end_ns[call]) continue;
    if (!last || timeline.end_ns[event] > timeline.end_ns[*last]) last = event;
  }
  return last;
}

// A thread that launched nothing waits for others' work: on the busiest stream, or its device.
void fill_unknown_places(const Trace& trace, std::vector<Pending>& waits) {
  std::optional<StreamId> busiest;
  for (Pending& pending : waits) {
    if (pending.wait.kind == WaitKind::kCopy || pending.stream.has_value() || pending.device.has_value()) continue;
    if (!busiest) busiest = busiest_stream(trace);
    if (!busiest->has_value()) return;
    if (pending.wait.kind == WaitKind::kStream || pending.wait.kind == WaitKind::kEvent) {
      pending.stream = *busiest;
    } else {
      pending.device = trace.streams.device[*busiest];
    }
  }
}

// Starts of all launching calls, sorted.
std::vector<TimeNs> launch_starts(const Trace& trace) {
  std::vector<TimeNs> starts;
  for (const ThreadId thread : trace.threads.ids().ids()) {
    const auto middle = static_cast<std::ptrdiff_t>(starts.size());
    for (const CallId call : trace.calls_of_thread[thread].ids()) {
      if (trace.calls.gpu_count[call] > 0) starts.push_back(trace.calls.start_ns[call]);
    }
    if (middle != static_cast<std::ptrdiff_t>(starts.size())) {
      std::inplace_merge(starts.begin(), starts.begin() + middle, starts.end());
    }
  }
  return starts;
}

double to_come_ratio(const std::vector<TimeNs>& starts, Interval step, TimeNs after_ns) {
  const auto at = [&](TimeNs time_ns) { return std::lower_bound(starts.begin(), starts.end(), time_ns); };
  const auto all = at(step.end_ns) - at(step.start_ns);
  const auto left = at(step.end_ns) - std::upper_bound(starts.begin(), starts.end(), after_ns);
  return all > 0 && left > 0 ? static_cast<double>(left) / static_cast<double>(all) : 0.0;
}

}  // namespace

std::string_view wait_kind_name(WaitKind kind) {
  switch (kind) {
    case WaitKind::kStream:
      return "stream";
    case WaitKind::kEvent:
      return "event";
    case WaitKind::kDevice:
      return "device";
    case WaitKind::kFree:
      return "free";
    case WaitKind::kCopy:
      return "copy";
  }
  return "";
}

std::vector<Wait> compute_waits(const Trace& trace, const GpuTimeline& timeline, const Steps& steps,
                                const HostPath& path) {
  std::vector<Pending> pending = collect_waits(trace);
  std::vector<Wait> waits;
  if (pending.empty()) return waits;
  fill_unknown_places(trace, pending);
  const WorkIndex work(trace, timeline, pending);
  const std::vector<TimeNs> starts = launch_starts(trace);
  waits.reserve(pending.size());
  for (const Pending& each : pending) {
    Wait wait = each.wait;
    const TimeNs start_ns = trace.calls.start_ns[wait.call], end_ns = trace.calls.end_ns[wait.call];
    wait.condition = wait.kind == WaitKind::kCopy ? find_own_copy(trace, timeline, wait.call)
                                                  : work.find_condition(each, end_ns + kClockSlackNs);
    wait.blocked = wait.condition && timeline.end_ns[*wait.condition] > start_ns;
    wait.step = steps.find_by_host_time(start_ns);
    if (wait.step) wait.launches_to_come_ratio = to_come_ratio(starts, steps.steps[*wait.step].host, end_ns);
    const HostLabel label = path.label_at(trace.calls.thread[wait.call], start_ns);
    wait.in_loader_or_checkpoint = label == HostLabel::kDataLoader || label == HostLabel::kCheckpoint;
    waits.push_back(wait);
  }
  return waits;
}

}  // namespace stepscope

// Facts for tests of idle attribution, made by hand so that those tests stand apart from how steps and busy time
// are found: steps as drawn (the host's span is the GPU's step), ends as recorded, the union of all GPU events.
#pragma once

#include "analyze/idle.h"
#include "analyze/waits.h"
#include "support/trace_from_text.h"

namespace stepscope {

struct IdleTestFacts {
  Trace trace;
  GpuTimeline timeline;
  Launches launches;
  Steps steps;
  std::vector<DeviceBusy> busy;
  HostPath path;

  // The main thread is the one named `main`, or none. Without drawn steps the window is `window`.
  explicit IdleTestFacts(Trace drawn, Interval window = {}) : trace(std::move(drawn)) {
    timeline.end_ns.raw() = trace.gpu_events.end_ns.raw();
    launches.plain_latency_ns = 10'000;
    for (const ThreadId thread : trace.threads.ids().ids()) {
      if (trace.text(trace.threads.key[thread]) == "main") steps.main_thread = thread;
    }
    for (const SpanId span : trace.spans.ids().ids()) {
      if (!trace.text(trace.spans.name[span]).starts_with("ProfilerStep#")) continue;
      Step step;
      step.number = static_cast<std::int64_t>(steps.steps.size());
      step.host = step.gpu = {trace.spans.start_ns[span], trace.spans.end_ns[span]};
      steps.steps.push_back(step);
    }
    steps.source = steps.steps.empty() ? StepSource::kNone : StepSource::kProfilerStep;
    steps.window =
        steps.steps.empty() ? window : Interval{steps.steps.front().gpu.start_ns, steps.steps.back().gpu.end_ns};
    for (const DeviceId device : trace.devices.ids().ids()) add_busy(device);
    path = HostPath::build(trace, steps);
  }

  [[nodiscard]] std::vector<DeviceIdle> idle() const {
    return compute_idle(trace, timeline, launches, steps, busy, path);
  }
  [[nodiscard]] std::vector<Wait> waits() const { return compute_waits(trace, timeline, steps, path); }

 private:
  void add_busy(DeviceId device) {
    DeviceBusy made;
    made.device = device;
    std::vector<Interval> all;
    for (const GpuEventId event : trace.gpu_events_of_device[device].ids()) {
      all.push_back({trace.gpu_events.start_ns[event], timeline.end_ns[event]});
    }
    made.window_ns = steps.window.length_ns();
    made.busy = clip(union_of(std::move(all)), steps.window);
    made.gpu_busy_ns = length_ns(made.busy);
    made.idle_ns = made.window_ns - made.gpu_busy_ns;
    for (const Step& step : steps.steps) made.busy_by_step_ns.push_back(length_ns(clip(made.busy, step.gpu)));
    busy.push_back(std::move(made));
  }
};

}  // namespace stepscope

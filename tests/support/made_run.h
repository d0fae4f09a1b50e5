// A run made by hand for tests of rules: steps of one length, facts set one by one, events added where a rule reads
// the trace itself.
//
// Rules rest on facts, so most of their thresholds are tested by setting the fact on either side. Drawing a trace for
// each would test the facts a second time and hide which number decides.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "rules/finding.h"

namespace stepscope {

class MadeRun {
 public:
  static constexpr DurationNs kMs = 1'000'000;

  explicit MadeRun(DurationNs step_ns = 10 * kMs, std::size_t step_count = 4)
      : MadeRun(std::vector(step_count, step_ns)) {}

  explicit MadeRun(const std::vector<DurationNs>& step_lengths) {
    trace.processes.push_back({});
    trace.threads.push_back({ProcessId(0), text("1"), {}});
    trace.devices.push_back({});
    trace.streams.push_back({DeviceId(0), text("7"), {}});
    TimeNs at = 0;
    std::vector<DurationNs> sorted = step_lengths;
    for (const DurationNs length : step_lengths) {
      facts.steps.steps.push_back(
          {static_cast<std::int64_t>(facts.steps.steps.size()) + 4, {at, at + length}, {at, at + length}, 1});
      at += length;
    }
    std::sort(sorted.begin(), sorted.end());
    facts.steps.source = StepSource::kProfilerStep;
    facts.steps.main_thread = ThreadId(0);
    facts.steps.window = {0, at};
    facts.steps.median_ns = sorted[sorted.size() / 2];
    facts.steps.host_span_median_ns = facts.steps.median_ns;
    DeviceBusy busy;
    busy.device = DeviceId(0);
    busy.window_ns = at;
    busy.gpu_busy_ns = at;
    busy.gpu_sum_ns = at;
    busy.busy_by_step_ns = step_lengths;
    facts.busy.push_back(busy);
    DeviceIdle idle;
    idle.device = DeviceId(0);
    idle.blame_by_step_ns.resize(step_lengths.size());
    facts.idle.push_back(idle);
    set_unprofiled(*facts.steps.median_ns);
  }

  StringId text(std::string_view words) { return trace.strings.intern(words); }

  // The step without the profiler, and every transform saving nothing.
  void set_unprofiled(DurationNs step_ns) { set_unprofiled({step_ns, step_ns, step_ns}); }
  void set_unprofiled(Estimate step) {
    facts.what_ifs.results.clear();
    for (std::size_t at = 0; at < kTransformCount; ++at) {
      facts.what_ifs.results.push_back({static_cast<Transform>(at), false, step, {}, step.mid_ns});
    }
  }
  // A transform that saves this share of the unprofiled step.
  void set_saving(Transform transform, double ratio) {
    const Estimate step = facts.what_ifs.results.front().step_unprofiled;
    const auto part = [&](DurationNs ns) { return static_cast<DurationNs>(static_cast<double>(ns) * ratio); };
    WhatIf& what_if = facts.what_ifs.results[static_cast<std::size_t>(transform)];
    what_if.applies = true;
    what_if.saving = {part(step.low_ns), part(step.mid_ns), part(step.high_ns)};
    what_if.step_unprofiled = {step.low_ns - part(step.low_ns), step.mid_ns - part(step.mid_ns),
                               step.high_ns - part(step.high_ns)};
  }
  void refuse_what_ifs() {
    facts.what_ifs.results.clear();
    facts.what_ifs.self_check.refused = "the replay is 3 % off the recording";
  }

  // Idle time blamed on a label, the same in each step.
  void blame(HostLabel label, DurationNs a_step_ns, std::string_view detail = {}) {
    const auto at = static_cast<std::size_t>(label);
    DeviceIdle& idle = facts.idle.front();
    for (IdleByCause& step : idle.blame_by_step_ns) step[at] += a_step_ns;
    const DurationNs total = a_step_ns * static_cast<DurationNs>(idle.blame_by_step_ns.size());
    idle.blame_ns[at] += total;
    if (!detail.empty()) idle.details.push_back({label, text(detail), total});
  }

  CallId call(ApiKind kind, std::string_view name, TimeNs start_ns, DurationNs length_ns) {
    Calls::Row row;
    row.start_ns = start_ns;
    row.end_ns = start_ns + length_ns;
    row.thread = ThreadId(0);
    row.name = text(name);
    row.kind = kind;
    return trace.calls.push_back(row);
  }
  GpuEventId gpu_event(KernelClass kernel_class, std::string_view name, TimeNs start_ns, DurationNs length_ns,
                       GpuEventKind kind = GpuEventKind::kKernel) {
    GpuEvents::Row row;
    row.start_ns = start_ns;
    row.end_ns = start_ns + length_ns;
    row.device = DeviceId(0);
    row.stream = StreamId(0);
    row.name = text(name);
    row.kind = kind;
    facts.classes.of.push_back(kernel_class);
    facts.timeline.end_ns.push_back(row.end_ns);
    return trace.gpu_events.push_back(row);
  }
  SpanId span(std::string_view name, TimeNs start_ns, DurationNs length_ns) {
    Spans::Row row;
    row.start_ns = start_ns;
    row.end_ns = start_ns + length_ns;
    row.thread = ThreadId(0);
    row.name = text(name);
    return trace.spans.push_back(row);
  }
  // The call launched the event; each event has one call of its own.
  void link(CallId launch, GpuEventId event) {
    trace.gpu_events.call[event] = launch;
    trace.calls.gpu_begin[launch] = static_cast<std::uint32_t>(trace.gpu_events_by_call.size());
    trace.calls.gpu_count[launch] = 1;
    trace.gpu_events_by_call.push_back(event);
  }

  // Fills what depends on all rows; call it last.
  RuleInput input(std::span<const Finding> found = {}) {
    const auto rows = [](const auto& table) { return static_cast<std::uint32_t>(table.size()); };
    trace.gpu_events_of_device.raw() = {{0, rows(trace.gpu_events)}};
    trace.ops_of_thread.raw() = {{0, rows(trace.ops)}};
    trace.spans_of_thread.raw() = {{0, rows(trace.spans)}};
    trace.frames_of_thread.raw() = {{0, rows(trace.frames)}};
    trace.calls_of_thread.raw() = {{0, rows(trace.calls)}};
    facts.classes.tensor_cores.resize(trace.strings.size(), TensorCores::kUnknown);
    return {trace, facts, found};
  }

  Trace trace;
  Facts facts;
};

}  // namespace stepscope

// Where each training step begins and ends, on the GPU's clock (findings.md section 0).
//
// A host span measures how long the host took to queue a step; when nothing synchronizes, the host runs ahead
// and the span lies. Boundary of step k: G_k = max(host start of k, end of all GPU work launched before it).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/gpu_timeline.h"
#include "analyze/launches.h"
#include "base/interval.h"

namespace stepscope {

enum class StepSource : std::uint8_t {
  kProfilerStep,     // ProfilerStep#N
  kNamedSpan,        // the span name that the user gave
  kStepNumber,       // spans with JAX's step_num
  kDetectedSpans,    // spans that repeat, none of the above
  kDetectedKernels,  // the period of the kernel sequence
  kOptimizerStep,    // steps of an optimizer that the agent heard
  kNone,             // unknown: the window is first to last event
};
[[nodiscard]] std::string_view step_source_name(StepSource source);  // "profiler_step", ...

struct Step {
  std::int64_t number = 0;  // N of ProfilerStep#N, else the position from 0
  Interval host;            // the host's span of the step
  Interval gpu;             // [G_k, G_k+1): the step as the hardware saw it
  [[nodiscard]] DurationNs duration_ns() const { return gpu.length_ns(); }
  std::int64_t gpu_event_count = 0;  // GPU events launched in it
  bool ends_alone = false;           // the next one of the recording does not follow at once: a gap lies between
};

// Numbers that the recording skips, both ends included: another cycle of recording, or damage to the file.
struct MissingSteps {
  std::int64_t first = 0, last = 0;
  friend bool operator==(const MissingSteps&, const MissingSteps&) = default;
};

// A step that Stepscope itself stopped, for longer than a reader would miss (disturbed_steps.h).
struct DisturbedStep {
  Step step;
  DurationNs overhead_ns = 0;  // of the step: no GPU worked and the program waited for us
  std::string cause;           // as the recording names it: "Stepscope wrote a memory snapshot"
};

struct StepOptions {
  std::string span_name;  // empty: look for ProfilerStep, then detect
};

struct Steps {
  StepSource source = StepSource::kNone;
  std::string source_detail;           // "ProfilerStep#N", "span `train`", "kernel period of 812 launches, match 0.998"
  ThreadId main_thread;                // the thread that runs the steps; empty if no host events
  std::vector<Step> steps;             // complete steps in order; empty when source is kNone
  std::vector<std::int64_t> left_out;  // numbers of steps seen but incomplete (their GPU work is cut off)
  std::vector<DisturbedStep> disturbed;  // in order; not in `steps`, in no account
  std::vector<MissingSteps> missing;     // rising; gaps between a capture's windows are meant, and not in it
  Interval window;                       // [G_first, G_end), or first to last event when there are no steps
  // Of the window, no idle time: between recorded windows of a capture, where steps are missing or left out, disturbed
  // steps.
  IntervalSet unrecorded;
  IntervalSet left_out_host;  // host time between the first and the last step that is in no step: as `unrecorded`
  // Over `steps`; missing when there are none.
  std::optional<DurationNs> median_ns, p10_ns, p90_ns, host_span_median_ns;
  // Median over steps of G_(k+1) - (host end of k): how far the host runs ahead. ~0 when the loop synchronizes.
  std::optional<DurationNs> host_lead_ns;
  // The step that contains t on the GPU's clock, or on the host's (where a step lasts until the next one begins).
  [[nodiscard]] std::optional<std::size_t> find_by_gpu_time(TimeNs t) const;
  [[nodiscard]] std::optional<std::size_t> find_by_host_time(TimeNs t) const;
  // Does what the GPU does at t count? Inside the window, and neither unrecorded nor in a disturbed step.
  [[nodiscard]] bool counts_at_gpu_time(TimeNs t) const;
  // Length of the window without what was not recorded.
  [[nodiscard]] DurationNs recorded_ns() const { return window.length_ns() - length_ns(unrecorded); }
};

// From the first to the last operator, span, call or GPU event. Python frames are left out: they stay open while the
// profiler starts and stops.
[[nodiscard]] Interval first_to_last_event(const Trace& trace);

[[nodiscard]] Steps compute_steps(const Trace& trace, const GpuTimeline& timeline, const Launches& launches,
                                  const StepOptions& options);

}  // namespace stepscope

// Steps of the recordings: on the GPU's clock as computed by an independent script, and detected without their names.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "analyze/steps.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

Steps steps_of(const Trace& trace) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  return compute_steps(trace, timeline, compute_launches(trace, timeline), {});
}

struct Recording {
  const char* name;
  std::vector<double> step_ms;
};

void PrintTo(const Recording& recording, std::ostream* out) { *out << recording.name; }

// Steps as in tests/data/README.md, with the digits that the script printed.
const Recording kRecordings[] = {
    {"h200/solid", {45.11, 44.89, 54.29}},
    {"h200/loader", {98.99, 98.53, 100.67}},
    {"h200/sync", {50.74, 51.31, 49.67}},
    {"h200/tiny", {41.85, 41.94, 41.30}},
    {"h200/optimizer", {83.86, 77.87, 63.43}},
    {"h200/memspike", {47.22, 47.81, 47.56}},
    {"h200/graph", {47.80, 48.07, 47.27}},
    {"h200/fp32", {130.21, 128.90, 129.56}},
    {"h200/logsync", {54.25, 52.79, 49.15}},
    {"h200/solid4_stack", {23.39, 23.35, 25.65}},
    {"h200/ddp_rank0", {38.00, 38.33, 37.51}},
    {"h200/ddp_rank1", {37.87, 38.11, 38.06}},
    {"h200/straggler_rank0", {64.96, 67.56, 64.29}},
    {"h200/straggler_rank1", {69.50, 62.84, 67.69}},
    {"h200/resnet_healthy", {22.63, 22.66, 22.66, 22.67}},
    {"h200/resnet_pageable", {39.26, 38.01, 40.96, 40.31}},
    {"h200/mask_sync", {34.94, 31.38, 33.32, 32.89}},
};

class RecordedSteps : public testing::TestWithParam<Recording> {};

TEST_P(RecordedSteps, BoundariesFollowTheGpu) {
  const Steps steps = steps_of(recorded_trace(GetParam().name));
  ASSERT_EQ(steps.source, StepSource::kProfilerStep);
  ASSERT_EQ(steps.steps.size(), GetParam().step_ms.size());
  DurationNs sum = 0;
  for (std::size_t k = 0; k < steps.steps.size(); ++k) {
    EXPECT_NEAR(static_cast<double>(steps.steps[k].duration_ns()) / 1e6, GetParam().step_ms[k], 0.006) << k;
    sum += steps.steps[k].duration_ns();
  }
  EXPECT_EQ(sum, steps.window.length_ns());
}

// Renames the steps so that nothing repeats or matches, as if the loop had never called step().
Trace without_step_names(const char* name) {
  Trace trace = read_recorded_trace(name);
  for (const SpanId span : trace.spans.ids().ids()) {
    std::string text(trace.text(trace.spans.name[span]));
    if (text.starts_with("ProfilerStep#")) trace.spans.name[span] = trace.strings.intern(text.replace(0, 13, "no"));
  }
  return trace;
}

double mean_ms(const Steps& steps) {
  DurationNs sum = 0;
  for (const Step& step : steps.steps) sum += step.duration_ns();
  return static_cast<double>(sum) / 1e6 / static_cast<double>(steps.steps.size());
}

TEST_P(RecordedSteps, DetectedStepsAreTheNamedOnes) {
  const Steps steps = steps_of(without_step_names(GetParam().name));
  EXPECT_EQ(steps.source, StepSource::kDetectedSpans);
  ASSERT_EQ(steps.steps.size(), GetParam().step_ms.size()) << steps.source_detail;
  const auto& truth = GetParam().step_ms;
  const double expected = std::accumulate(truth.begin(), truth.end(), 0.0) / static_cast<double>(truth.size());
  EXPECT_NEAR(mean_ms(steps) / expected, 1.0, 0.006) << steps.source_detail;
}

// Nor any other span: only the kernels are left.
TEST_P(RecordedSteps, TheKernelsAloneShowTheSteps) {
  Trace trace = without_step_names(GetParam().name);
  for (const SpanId span : trace.spans.ids().ids()) {
    trace.spans.name[span] = trace.strings.intern(std::to_string(span.value));
  }
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.source, StepSource::kDetectedKernels);
  ASSERT_EQ(steps.steps.size(), GetParam().step_ms.size() - 1) << steps.source_detail;
  // Another phase cuts other pauses off, so only what the GPU does is equal: compare with the nearest truths.
  const auto& truth = GetParam().step_ms;
  const auto [least, most] = std::minmax_element(truth.begin(), truth.end());
  for (const Step& step : steps.steps) {
    EXPECT_GE(static_cast<double>(step.duration_ns()) / 1e6, *least * 0.97) << steps.source_detail;
    EXPECT_LE(static_cast<double>(step.duration_ns()) / 1e6, *most * 1.03) << steps.source_detail;
  }
}

// A loop without StepTraceAnnotation: the runs of the compiled function, four milliseconds and less, and not one of the
// three dozen other spans that come four times.
TEST(RecordedJaxSteps, TheCompiledFunctionShowsThem) {
  Trace trace = read_recorded_trace("jax/vm.trace.json.gz");
  const Steps named = steps_of(trace);
  ASSERT_EQ(named.source, StepSource::kStepNumber);
  for (const SpanId span : trace.spans.ids().ids()) {
    if (trace.text(trace.spans.name[span]) == "train")
      trace.spans.name[span] = trace.strings.intern(std::to_string(span.value));
    trace.spans.step_number[span] = MaybeInt();
  }
  const Steps found = steps_of(trace);
  EXPECT_EQ(found.source, StepSource::kDetectedSpans);
  EXPECT_EQ(found.source_detail, "span `PjitFunction(step)`, 4 times");
  // Nothing says where the last one ends: its copy to the host is made by another thread after it.
  ASSERT_EQ(found.steps.size(), named.steps.size() - 1);
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    // The span of the function opens a few microseconds after that of the step.
    EXPECT_NEAR(static_cast<double>(found.steps[i].duration_ns()) / static_cast<double>(named.steps[i].duration_ns()),
                1, 0.05)
        << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedSteps, testing::ValuesIn(kRecordings), [](const auto& each) {
  return std::string(each.param.name + std::string_view("h200/").size());
});

}  // namespace
}  // namespace stepscope

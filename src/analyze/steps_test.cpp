// Boundaries on the GPU's clock, and where the marks of steps come from.
#include "analyze/steps.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

Steps steps_of(const Trace& trace, const StepOptions& options = {}) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  return compute_steps(trace, timeline, compute_launches(trace, timeline), options);
}

std::vector<Interval> gpu_intervals(const Steps& steps) {
  std::vector<Interval> intervals;
  for (const Step& step : steps.steps) intervals.push_back(step.gpu);
  return intervals;
}

TEST(Steps, WhereTheLoopSynchronizesAStepIsItsHostSpan) {
  const Trace trace = trace_from_text(R"(
    step      [4          ][5          ]
    call       [L1]         [L2]
    gpu/7         [K1=]        [K2=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = a corr 2
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 130'000}, {130'000, 260'000}}));
  EXPECT_EQ(steps.steps[0].number, 4);
  EXPECT_EQ(steps.steps[1].gpu_event_count, 1);
  EXPECT_EQ(steps.window, (Interval{0, 260'000}));
  EXPECT_EQ(steps.host_lead_ns, 0);
  EXPECT_EQ(steps.median_ns, 130'000);
}

TEST(Steps, WhereTheHostRunsAheadAStepEndsWithItsGpuWork) {
  const Trace trace = trace_from_text(R"(
    step      [4  ][5  ][6  ]
    call      [L1] [L2] [L3]
    gpu/7       [K1=====][K2======][K3======]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = a corr 2
      K3 = a corr 3
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 110'000}, {110'000, 210'000}, {210'000, 310'000}}));
  EXPECT_EQ(steps.host_span_median_ns, 50'000);
  EXPECT_EQ(steps.host_lead_ns, 110'000) << "60, 110 and 160 us";
  EXPECT_EQ(steps.find_by_gpu_time(150'000), 1U);
  EXPECT_EQ(steps.find_by_host_time(60'000), 1U);
  EXPECT_FALSE(steps.find_by_gpu_time(310'000).has_value());
}

TEST(Steps, WorkQueuedBeforeRecordingEndsBeforeTheFirstStepBegins) {
  const Trace trace = trace_from_text(R"(
    step      [4         ][5         ]
    call      [L1]        [L2]
    gpu/7     [old1][old2][K1==]  [K2====]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = a corr 2
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{120'000, 180'000}, {180'000, 280'000}}));
  EXPECT_EQ(steps.steps[0].gpu_event_count, 1);
}

TEST(Steps, AQueueThatGrowsBeforeTheFirstEventMeansUnrecordedWork) {
  const Trace trace = trace_from_text(R"(
    step      [4                 ][5         ]
    call      [L1][L2][L3]        [L4]
    gpu/7                 [K1][K2][K3]  [K4]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      K1 = a corr 1
      K2 = a corr 2
      K3 = a corr 3
      K4 = a corr 4
  )");
  EXPECT_EQ(steps_of(trace).steps[0].gpu.start_ns, 120'000);
}

TEST(Steps, ALateFirstLaunchAloneMeansNothing) {
  const Trace trace = trace_from_text(R"(
    step      [4                 ][5         ]
    call      [L1===========]     [L4]
    gpu/7                 [K1]          [K4]
    where
      L1 = cudaLaunchKernel corr 1
      L4 = cudaLaunchKernel corr 4
      K1 = a corr 1
      K4 = a corr 4
  )");
  EXPECT_EQ(steps_of(trace).steps[0].gpu.start_ns, 0);
}

TEST(Steps, TheLatestDeviceDecides) {
  const Trace trace = trace_from_text(R"(
    step      [4  ][5      ]
    call      [L1] [L2]
    call         [L3]
    gpu/7       [K1=]
    gpu1/7           [K3====]
    gpu/7            [K2=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = a corr 2
      K3 = a corr 3
  )");
  EXPECT_EQ(gpu_intervals(steps_of(trace)), (std::vector<Interval>{{0, 150'000}, {150'000, 150'000}}));
}

TEST(Steps, ASwallowingDurationMovesNoBoundary) {
  const Trace trace = trace_from_text(R"(
    step      [4          ][5          ]
    call       [L1]         [L2]
    gpu/7         [K1===================]
    gpu/7                      [K2=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = a corr 2
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.steps[0].gpu.end_ns, 170'000) << "K1 is ended where K2 begins";
}

TEST(Steps, AnotherCycleOfRecordingLeavesAHole) {
  const Trace trace = trace_from_text(R"(
    step      [4    ][5    ]          [14   ][15   ]
  )");
  const Steps steps = steps_of(trace);
  ASSERT_EQ(steps.steps.size(), 4U);
  EXPECT_EQ(steps.steps[1].gpu, (Interval{70'000, 140'000}));
  EXPECT_EQ(steps.steps[2].gpu.start_ns, 240'000);
  EXPECT_FALSE(steps.find_by_gpu_time(200'000).has_value());
  EXPECT_FALSE(steps.find_by_host_time(200'000).has_value());
}

TEST(Steps, ACutFileLosesTheStepWhoseKernelIsGone) {
  Trace trace = trace_from_text(R"(
    step      [4          ][5          ][6          ]
    call       [L1]         [L2]         [L3]
    gpu/7         [K1=]        [K2=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = a corr 2
  )");
  EXPECT_EQ(steps_of(trace).steps.size(), 3U) << "a whole file keeps it; the ledger tells";
  trace.notes.add(NoteKind::kFileCut, NoteSeverity::kLost, 10, "");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.steps.size(), 2U);
  EXPECT_EQ(steps.left_out, (std::vector<std::int64_t>{6}));
  EXPECT_EQ(steps.window, (Interval{0, 260'000}));
}

TEST(Steps, ANamedSpanIsTakenAtItsWord) {
  const Trace trace = trace_from_text(R"(
    step      [4          ][5          ]
    span       [it ] [it ]  [it ]
    span         [it#x]
    where
      it#x = it
  )");
  const Steps steps = steps_of(trace, {"it"});
  EXPECT_EQ(steps.source, StepSource::kNamedSpan);
  EXPECT_EQ(steps.steps.size(), 3U) << "a nested or overlapping repeat counts once";
  const Steps none = steps_of(trace, {"iteration"});
  EXPECT_EQ(none.source, StepSource::kNone);
  EXPECT_TRUE(none.steps.empty());
  EXPECT_NE(none.source_detail.find("iteration"), std::string::npos);
}

TEST(Steps, SpansThatRepeatAreDetected) {
  const Trace trace = trace_from_text(R"(
    span      [data][fwd   ][data][fwd   ][data][fwd   ]
    call            [L]           [L]           [L]
    where
      L = cudaLaunchKernel
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.source, StepSource::kDetectedSpans);
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 140'000}, {140'000, 280'000}, {280'000, 420'000}}));
}

TEST(Steps, OptimizerSpansAloneEndSteps) {
  const Trace trace = trace_from_text(R"(
    op        [mm  ]        [mm  ]        [mm  ]
    span              [opt ]        [opt ]        [opt ]
    call      [L]           [L]           [L]
    where
      L = cudaLaunchKernel
      opt = Optimizer.step#AdamW.step
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.source, StepSource::kDetectedSpans);
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 140'000}, {140'000, 280'000}, {280'000, 420'000}}));
}

TEST(Steps, WithoutMarksTheWindowIsFirstToLastEvent) {
  const Trace trace = trace_from_text(R"(
    op         [mm  ]        [mm  ]
    call        [L1]          [L2]
    gpu/7          [K1=]         [K2=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = a corr 2
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.source, StepSource::kNone);
  EXPECT_TRUE(steps.steps.empty());
  EXPECT_FALSE(steps.median_ns.has_value());
  EXPECT_EQ(steps.window, (Interval{10'000, 240'000}));
  EXPECT_EQ(steps.main_thread, thread_named(trace, "main"));
}

TEST(Steps, AnEmptyTraceHasNone) {
  const Steps steps = steps_of(Trace());
  EXPECT_EQ(steps.source, StepSource::kNone);
  EXPECT_EQ(steps.window, Interval{});
  EXPECT_FALSE(steps.main_thread.has_value());
}

}  // namespace
}  // namespace stepscope

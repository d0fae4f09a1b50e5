// Boundaries on the GPU's clock, and where the marks of steps come from.
#include "analyze/steps.h"

#include <gtest/gtest.h>

#include "analyze/step_marks.h"
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
  // In no account, though the host and the GPU may have worked there.
  EXPECT_EQ(steps.unrecorded, (IntervalSet{{140'000, 240'000}}));
  EXPECT_EQ(steps.left_out_host, (IntervalSet{{140'000, 240'000}}));
  EXPECT_EQ(steps.recorded_ns(), 4 * 70'000);
  EXPECT_EQ(steps.missing, (std::vector<MissingSteps>{{6, 13}}));
}

// Two recordings in one file, a clock that jumped: the numbers would order the steps wrongly.
TEST(Steps, NumbersThatDoNotRiseAreReplacedAndThatIsSaid) {
  const auto numbers = [](const Steps& steps) {
    std::vector<std::int64_t> all;
    for (const Step& step : steps.steps) all.push_back(step.number);
    return all;
  };
  const Steps falling = steps_of(trace_from_text("    step      [5    ][4    ][3    ]"));
  EXPECT_EQ(numbers(falling), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(falling.source_detail, "ProfilerStep#N, numbered anew from 0: #5 comes before #4");
  const Steps twice = steps_of(trace_from_text("    step      [1    ][1    ][2    ]"));
  EXPECT_EQ(twice.source_detail, "ProfilerStep#N, numbered anew from 0: #1 comes twice");
  const Steps nested = steps_of(trace_from_text(R"(
    step      [7       ][8       ]
    step       [7    ]   [8    ]
  )"));
  EXPECT_EQ(numbers(nested), (std::vector<std::int64_t>{7, 8})) << "a repeat inside a step is no second one";
  EXPECT_EQ(nested.source_detail, "ProfilerStep#N");
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

// torch opens the span of step 6 when step 5 ends, and closes it when the profiler stops.
TEST(Steps, TheSpanThatStaysOpenAfterTheLoopIsNoStep) {
  const std::string_view where = R"(
    where
      L = cudaLaunchKernel
      M = cudaMemcpyAsync
      S = cudaDeviceSynchronize
  )";
  const Trace open = trace_from_text(std::string(R"(
    step      [3          ][4          ][5          ][6                           ]
    op        [mm ][relu]               [mm ][relu]
    call       [L]  [L]                  [L]  [L]                             [S])") +
                                     std::string(where));
  Steps steps = steps_of(open);
  ASSERT_EQ(steps.steps.size(), 3U) << "a step in the middle that did nothing is one";
  EXPECT_EQ(steps.left_out, (std::vector<std::int64_t>{6}));
  EXPECT_EQ(steps.window, (Interval{0, 390'000}));
  const Trace whole = trace_from_text(std::string(R"(
    step      [3          ][4          ][5          ][6    ]
    op        [mm ][relu]  [mm ][relu]  [mm ][relu]  [mm ]
    call       [L]  [L]     [L]  [L]     [L]  [L]     [L])") +
                                      std::string(where));
  EXPECT_EQ(steps_of(whole).steps.size(), 4U) << "a smaller last step";
  EXPECT_TRUE(steps_of(whole).left_out.empty());
}

// Trainers read the loss once more when their loop has ended.
TEST(Steps, TheOpenSpanMayReadTheLoss) {
  std::string ops = "    op        ";
  std::string call = "\n    call      ";
  for (int step = 0; step < 2; ++step) {
    for (int i = 0; i < 20; ++i) ops += "[a]", call += "[L]";
  }
  ops += "[i]", call += "[M]";
  const Trace trace =
      trace_from_text("    step      [3" + std::string(57, ' ') + "][4" + std::string(57, ' ') + "][5          ]\n" +
                      ops + call + "\n    where\n      L = cudaLaunchKernel\n      M = cudaMemcpyAsync\n");
  EXPECT_EQ(steps_of(trace).left_out, (std::vector<std::int64_t>{5}));
}

TEST(Steps, WhereNoStepDidAnythingThatWasRecordedTheLastOneStays) {
  EXPECT_EQ(steps_of(trace_from_text("    step      [3    ][4    ][5    ]")).steps.size(), 3U);
  const Trace one = trace_from_text(R"(
    step      [3          ][4          ][5          ][6          ]
    op        [mm ][relu]
  )");
  EXPECT_EQ(steps_of(one).steps.size(), 4U) << "most steps did nothing, so this one may be real";
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

// Each step launches three times, the last time behind the span.
TEST(Steps, ANamedSpanThatBeginsAStepIsNotItsEnd) {
  const std::string_view where = R"(
    where
      L = cudaLaunchKernel
      S = cudaDeviceSynchronize
  )";
  const Trace whole = trace_from_text(std::string(R"(
    span      [fwd ]        [fwd ]        [fwd ]
    call      [L][L]  [L]   [L][L]  [L]   [L][L]  [L]  [S])") +
                                      std::string(where));
  Steps steps = steps_of(whole, {"fwd"});
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 140'000}, {140'000, 280'000}, {280'000, 390'000}}))
      << "to its last launch, not to the profiler's wait";
  EXPECT_TRUE(steps.left_out.empty());
  const Trace cut = trace_from_text(std::string(R"(
    span      [fwd ]        [fwd ]        [fwd ]
    call      [L][L]  [L]   [L][L]  [L]   [L][L])") +
                                    std::string(where));
  steps = steps_of(cut, {"fwd"});
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 140'000}, {140'000, 280'000}}));
  EXPECT_EQ(steps.left_out, (std::vector<std::int64_t>{2}));
  const Trace enclosing = trace_from_text(std::string(R"(
    span      [step      ]  [step      ]  [step      ]
    call      [L][L]  [L]   [L][L]  [L]   [L][L]  [L])") +
                                          std::string(where));
  EXPECT_EQ(steps_of(enclosing, {"step"}).steps.size(), 3U);
  EXPECT_EQ(steps_of(enclosing, {"step"}).steps.back().host.end_ns, 400'000);
}

TEST(Steps, ANamedSpanWithoutAGpuCountsOperators) {
  const Trace cut = trace_from_text(R"(
    span      [fwd ]        [fwd ]        [fwd ]
    op        [a ]    [b]   [a ]    [b]   [a ]
  )");
  EXPECT_EQ(steps_of(cut, {"fwd"}).left_out, (std::vector<std::int64_t>{2}));
  const Trace whole = trace_from_text(R"(
    span      [fwd ]        [fwd ]        [fwd ]
    op        [a ]    [b]   [a ]    [b]   [a ]    [b]
  )");
  EXPECT_EQ(steps_of(whole, {"fwd"}).steps.back().host.end_ns, 390'000);
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

TEST(Steps, OptimizersOfOneClassStepTogether) {
  const std::string_view where = R"(
    where
      L = cudaLaunchKernel
      z = Optimizer.zero_grad#Adam.zero_grad
      s = Optimizer.step#Adam.step
  )";
  const Trace together = trace_from_text(std::string(R"(
    span         [z][z]     [s][s]    [z][z]     [s][s]     [z][z]    [s][s]
    op        [b]      [mm ]      [b]       [mm ]      [b]       [mm]
    call               [L]                  [L]                  [L])") +
                                         std::string(where));
  Steps steps = steps_of(together);
  EXPECT_EQ(steps.source, StepSource::kDetectedSpans);
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 200'000}, {200'000, 410'000}, {410'000, 620'000}}));
  // One optimizer, or two in turn: each step is one.
  const Trace in_turn = trace_from_text(std::string(R"(
    span      [z]     [s] [z]     [s] [z]     [s]
    call         [L]         [L]         [L])") +
                                        std::string(where));
  steps = steps_of(in_turn);
  EXPECT_EQ(gpu_intervals(steps), (std::vector<Interval>{{0, 110'000}, {110'000, 230'000}, {230'000, 350'000}}));
  // Nothing else of the optimizer's between them.
  const Trace bare = trace_from_text(std::string(R"(
    span              [s]         [s]         [s]
    call         [L]         [L]         [L])") +
                                     std::string(where));
  EXPECT_EQ(steps_of(bare).steps.size(), 3U);
}

// As the importer gives the steps that the agent wrote.
Trace heard_by_the_agent(std::string_view picture) {
  Trace trace = trace_from_text(picture);
  for (const SpanId span : trace.spans.ids().ids()) {
    const auto number = profiler_step_number(trace.text(trace.spans.name[span]));
    if (number) trace.spans.step_number[span] = *number;
  }
  return trace;
}

TEST(Steps, OfTheAgentAreNamedByWhatItHeard) {
  const std::string_view where = R"(
    where
      L = cudaLaunchKernel
      s = Optimizer.step#Adam.step
      z = Optimizer.zero_grad#Adam.zero_grad
      n = train step#7
  )";
  const auto steps_with =
      [&](std::string_view spans) {
        return steps_of(heard_by_the_agent(std::string(R"(
    step      [4         ][5         ][6         ]
    span      )") + std::string(spans) + R"(
    call        [L]         [L]         [L])" +
                                           std::string(where)));
      };
  Steps steps = steps_with("[z]      [s][z]      [s][z]      [s]");
  EXPECT_EQ(step_source_name(steps.source), "optimizer_step");
  EXPECT_EQ(steps.source_detail, "Optimizer.step#Adam.step, heard by the agent");
  EXPECT_EQ(gpu_intervals(steps).size(), 3U);
  EXPECT_EQ(steps.steps.front().number, 4);
  steps = steps_with("[z] [s]  [s][z] [s]  [s][z] [s]  [s]");
  EXPECT_EQ(steps.source_detail, "every 2nd Optimizer.step#Adam.step, heard by the agent");
  // The spans of the last one were dropped.
  steps = steps_with("[z]      [s][z]      [s]");
  EXPECT_EQ(steps.source_detail, "Optimizer.step#Adam.step, heard by the agent");
  steps = steps_with("         [n]         [n]         [n]");
  EXPECT_EQ(step_source_name(steps.source), "named_span");
  EXPECT_EQ(steps.source_detail, "span `train step`, heard by the agent");
  steps = steps_with("[z]");
  EXPECT_EQ(step_source_name(steps.source), "profiler_step");
  EXPECT_EQ(steps.source_detail, "spans heard by the agent");
}

// Recorded from the program's start.
TEST(Steps, ASetUpBeforeTheFirstOptimizerIsNoStep) {
  const auto with_set_up = [](std::size_t columns) {
    std::string op = "    op        [i" + std::string(columns, ' ') + "][mm]        [mm]\n";
    std::string span = "    span        " + std::string(columns, ' ') + "     [z][s]      [z][s]\n";
    return steps_of(trace_from_text(op + span + R"(
    where
      s = Optimizer.step#SGD.step
      z = Optimizer.zero_grad#SGD.zero_grad
  )"));
  };
  const Steps whole = with_set_up(8);
  EXPECT_EQ(whole.steps.size(), 2U);
  EXPECT_EQ(whole.source_detail, "span `Optimizer.zero_grad#SGD.zero_grad`, 2 times");
  const Steps steps = with_set_up(20);
  EXPECT_EQ(steps.source, StepSource::kDetectedSpans);
  ASSERT_EQ(steps.steps.size(), 1U);
  EXPECT_EQ(steps.steps[0].host.length_ns(), 120'000);
  EXPECT_EQ(
      steps.source_detail,
      "span `Optimizer.zero_grad#SGD.zero_grad`, 2 times, without what came before the first, too long for a step");
}

TEST(Steps, OneStepsEndIsSaid) {
  const std::string_view one = R"(
    op        [mm]
    span          [z][s]
    where
      s = Optimizer.step#SGD.step
      z = Optimizer.zero_grad#SGD.zero_grad
  )";
  const Steps steps = steps_of(trace_from_text(one));
  EXPECT_TRUE(steps.steps.empty());
  EXPECT_EQ(steps.source, StepSource::kNone);
  EXPECT_EQ(steps.source_detail, kOneStepsEnd);
  EXPECT_EQ(steps_of(trace_from_text(one), {"train"}).source_detail, "no span is named `train`");
  EXPECT_EQ(steps_of(trace_from_text("    op        [mm]\n")).source_detail, "");
}

TEST(Steps, PassesOfACompilerAreNoSteps) {
  const std::string_view where = R"(
    where
      L = cudaLaunchKernel
      p1 = TSL:XlaPass:#name=dce,module=jit_step,program_id=3#
      p2 = TSL:XlaPass:#name=fusion,module=jit_step,program_id=3#
      d = compile_inner (dynamo_timed)
      th = TSL:Thunk:#hlo_op=fusion.3#
  )";
  const Trace compiled = trace_from_text(std::string(R"(
    span      [p1][p2][d ][th] [p1][p2][d ][th]
    call            [L]            [L]         [L])") +
                                         std::string(where));
  EXPECT_EQ(steps_of(compiled).source, StepSource::kNone);
  // A span of the user's that looks a little like one still is a step.
  const Trace named = trace_from_text(R"(
    span      [a     ][a     ]
    call            [L]     [L]
    where
      L = cudaLaunchKernel
      a = epoch 1: #3
  )");
  EXPECT_EQ(steps_of(named).steps.size(), 2U);
}

TEST(Steps, RunsOfTheCompiledFunctionThatDoesTheWorkAreSteps) {
  const Trace trace = trace_from_text(R"(
    span      [p1][p1] [init][step====]  [log][step====]  [log][step====]  [log]
    span               [in ] [step===]        [step===]        [step===]
    call                      [L1]             [L2]             [L3]       [L4]
    gpu/7                       [K1==========]  [K2==========]   [K3===========]
    gpu/8                                                                   [K4]
    where
      p1 = XlaPass:#name=dce,module=jit_step#
      init = PjitFunction(init)
      step = PjitFunction(step)
      log = PjitFunction(log)
      in = XlaModule:#hlo_module=jit_init#
      L1 = cuGraphLaunch corr 1
      L2 = cuGraphLaunch corr 2
      L3 = cuGraphLaunch corr 3
      L4 = cuLaunchKernel corr 4
      K1 = a corr 1
      K2 = a corr 2
      K3 = a corr 3
      K4 = b corr 4
  )");
  const Steps steps = steps_of(trace);
  EXPECT_EQ(steps.source, StepSource::kDetectedSpans);
  EXPECT_EQ(steps.source_detail, "span `PjitFunction(step)`, 3 times");
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].host, (Interval{150'000, 320'000}));
  EXPECT_EQ(steps.steps[1].host, (Interval{320'000, 490'000}));
}

// Two warm-up steps with the optimizer's spans, then four replays of a graph of two kernels.
constexpr std::string_view kGraphAfterWarmUp = R"(
    span      [opt]      [opt]
    call      [w1]       [w2]     [h][g1]     [h][g2]     [h][g3]     [h][g4]
    gpu/7       [u]        [v]      [c][a1][b1] [d][a2][b2] [e][a3][b3] [f][a4][b4]
    where
      opt = Optimizer.step#AdamW.step
      w1 = cudaLaunchKernel corr 1
      w2 = cudaLaunchKernel corr 2
      u = k corr 1
      v = k corr 2
      h = cudaMemcpyAsync
      g1 = cudaGraphLaunch corr 11
      g2 = cudaGraphLaunch corr 12
      g3 = cudaGraphLaunch corr 13
      g4 = cudaGraphLaunch corr 14
      a1 = a corr 11
      b1 = b corr 11
      a2 = a corr 12
      b2 = b corr 12
      a3 = a corr 13
      b3 = b corr 13
      a4 = a corr 14
      b4 = b corr 14
  )";

TEST(Steps, ReplaysOfAGraphAreTheStepsAndNotItsWarmUp) {
  const Steps steps = steps_of(trace_from_text(kGraphAfterWarmUp));
  EXPECT_EQ(steps.source, StepSource::kDetectedKernels);
  EXPECT_EQ(steps.source_detail, "replays of one graph, 4 times");
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].host, (Interval{230'000, 350'000})) << "from replay to replay: the copies have no call";
  EXPECT_EQ(steps.steps[2].host, (Interval{470'000, 590'000}));
  EXPECT_EQ(steps.steps[0].gpu_event_count, 3);
}

TEST(Steps, MarksThatHoldTheReplaysStay) {
  std::string around(kGraphAfterWarmUp);
  around.insert(around.find("    call"),
                "    step                          [1         ][2         ][3         ][4         ]\n");
  const Steps steps = steps_of(trace_from_text(around));
  EXPECT_EQ(steps.source, StepSource::kProfilerStep);
  EXPECT_EQ(steps.steps.size(), 4U);
}

TEST(Steps, AStepOfAGraphBeginsWithTheCopyBeforeIt) {
  std::string copied(kGraphAfterWarmUp);
  for (const char which : {'1', '2', '3', '4'}) {
    const std::size_t at = copied.find("[h][g" + std::string(1, which));
    copied[at + 1] = static_cast<char>('m' + which - '1');
  }
  copied += "    m = cudaMemcpyAsync corr 21\n      n = cudaMemcpyAsync corr 22\n      o = cudaMemcpyAsync corr 23\n";
  copied += "      p = cudaMemcpyAsync corr 24\n      c = Memcpy HtoD (Pinned -> Device) corr 21\n";
  copied += "      d = Memcpy HtoD (Pinned -> Device) corr 22\n      e = Memcpy HtoD (Pinned -> Device) corr 23\n";
  copied += "      f = Memcpy HtoD (Pinned -> Device) corr 24\n";
  const Steps steps = steps_of(trace_from_text(copied));
  ASSERT_EQ(steps.steps.size(), 3U);
  EXPECT_EQ(steps.steps[0].host, (Interval{200'000, 320'000}));
  EXPECT_EQ(steps.steps[1].host, (Interval{320'000, 440'000}));
  EXPECT_EQ(steps.steps[0].gpu_event_count, 3);
}

TEST(Steps, AGraphThatDoesLittleOfTheWorkIsNoStep) {
  std::string heavy(kGraphAfterWarmUp);
  heavy.replace(heavy.find("gpu/7       [u]        [v]  "), 28, "gpu/8       [u========][v===================");
  const Steps steps = steps_of(trace_from_text(heavy));
  EXPECT_EQ(steps.source, StepSource::kDetectedSpans);
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

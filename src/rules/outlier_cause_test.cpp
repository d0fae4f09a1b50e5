// outlier-step's causes beyond the label of idle time: which work of the GPU, which event of the host, what is silent.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = MadeRun::kMs;

std::vector<DurationNs> ms_of(std::initializer_list<double> lengths_ms) {
  std::vector<DurationNs> out;
  for (const double ms : lengths_ms) out.push_back(static_cast<DurationNs>(ms * 1e6));
  return out;
}

// Five steps, the third one of 20 ms, whose GPU is busy throughout: two kernels and a collective or copy in each.
struct BusyRun {
  MadeRun run{ms_of({10, 10, 20, 10, 10})};
  void add(std::size_t step, double at_ms, double length_ms, std::string_view name, KernelClass kernel_class) {
    run.gpu_event(kernel_class, name, run.facts.steps.steps[step].gpu.start_ns + static_cast<TimeNs>(at_ms * 1e6),
                  static_cast<DurationNs>(length_ms * 1e6));
  }
  // Lengths in the third step.
  BusyRun(double matmul_ms, double add_ms, double other_ms, KernelClass other) {
    for (std::size_t step = 0; step < 5; ++step) {
      const bool is_long = step == 2;
      add(step, 0, is_long ? matmul_ms : 5, "matmul", KernelClass::kMatmul);
      add(step, 12 * (is_long ? 1 : 0.5), is_long ? add_ms : 2, "add", KernelClass::kElementwise);
      add(step, 16 * (is_long ? 1 : 0.5), is_long ? other_ms : 2, "other", other);
    }
  }
};

std::optional<Finding> find(MadeRun& run) { return find_outlier_step(run.input()); }

TEST(OutlierCause, KernelsThatAreAllSlowerAreTheDevices) {
  BusyRun slow(9.0, 3.6, 2, KernelClass::kCopy);
  const auto finding = find(slow.run);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("its kernels, the same as in the others, take 1.8 times as long"))
      << finding->title;
  EXPECT_NE(finding->advice[0].find("nvidia-smi -q -d PERFORMANCE"), std::string::npos);
}

TEST(OutlierCause, OneKernelThatIsSlowerIsNot) {
  BusyRun larger(12.0, 2, 2, KernelClass::kCopy);
  const auto finding = find(larger.run);
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("the GPU itself works longer, as for a larger batch"), std::string::npos)
      << finding->title;
  EXPECT_TRUE(finding->evidence[0].text.ends_with(" `matmul` takes 7.00 ms more of it.")) << finding->evidence[0].text;
}

TEST(OutlierCause, CollectivesWaitAndCopiesAreOfTheHost) {
  BusyRun waiting(5, 2, 12, KernelClass::kCommunication);
  auto finding = find(waiting.run);
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("its collectives take longer, as when another rank comes late"), std::string::npos)
      << finding->title;
  BusyRun copying(5, 2, 12, KernelClass::kCopy);
  finding = find(copying.run);
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("its copies take longer than the same ones in the others"), std::string::npos)
      << finding->title;
}

TEST(OutlierCause, MoreWorkIsCounted) {
  BusyRun more(5, 2, 2, KernelClass::kCopy);
  for (int extra = 0; extra < 4; ++extra) more.add(2, 6 + extra, 1, "extra", KernelClass::kElementwise);
  const auto finding = find(more.run);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("the GPU has more to do, 7 kernels and copies, in the others 3"))
      << finding->title;
  BusyRun one_more(12, 2, 2, KernelClass::kCopy);
  one_more.add(2, 19, 1, "extra", KernelClass::kElementwise);
  const auto larger = find(one_more.run);
  ASSERT_TRUE(larger);
  EXPECT_NE(larger->title.find("as for a larger batch"), std::string::npos) << larger->title;
}

// Work of 10 ms that is launched early, by a host that runs ahead, from one span.
struct LaunchedRun {
  MadeRun run{ms_of({10, 10, 20, 10, 10})};
  void add(TimeNs launch_ms, double at_ms, double length_ms, std::string_view name) {
    const CallId call = run.call(ApiKind::kLaunch, "cudaLaunchKernel", launch_ms * kMs + 1000, 5000);
    run.link(call, run.gpu_event(KernelClass::kMatmul, name, static_cast<TimeNs>(at_ms * 1e6),
                                 static_cast<DurationNs>(length_ms * 1e6)));
  }
  explicit LaunchedRun(std::string_view span_everywhere) {
    run.trace.gpu_events_by_call.clear();
    for (const TimeNs step_ms : {0, 10, 20, 40, 50}) {
      run.span(span_everywhere, step_ms * kMs, kMs);
      add(step_ms, static_cast<double>(step_ms), 9.9, "matmul");
      if (step_ms != 20) continue;
      run.span("validate", 22 * kMs, kMs);
      add(22, 30, 4.9, "matmul");
      add(22, 35, 4.9, "matmul");
    }
  }
};

TEST(OutlierCause, TheSpanWhoseWorkTheOthersDoNotHaveIsNamed) {
  LaunchedRun validating("forward");
  const auto finding = find(validating.run);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("the GPU works 9.80 ms for span `validate`, which the others do not have"))
      << finding->title;
  EXPECT_EQ(finding->advice[0], "Look at what `validate` does in this step, and whether every so many steps need it");
  EXPECT_EQ(finding->evidence[0].at->start_ns, 30 * kMs);
}

TEST(OutlierCause, ASpanThatAllHaveIsALargerBatch) {
  LaunchedRun larger("validate");
  const auto finding = find(larger.run);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->title.find("validate"), std::string::npos) << finding->title;
}

TEST(OutlierCause, WhereNoPartIsHalfOfItBothSidesAreSaid) {
  MadeRun run(ms_of({10, 10, 30, 10}));
  run.facts.busy.front().busy_by_step_ns = ms_of({8, 8, 14, 8});
  IdleByCause& parts = run.facts.idle.front().blame_by_step_ns[2];
  parts[static_cast<std::size_t>(HostLabel::kDataLoader)] = 7 * kMs;
  parts[static_cast<std::size_t>(HostLabel::kSynchronization)] = 5 * kMs;
  Finding stall;
  stall.id = "data-loader-stall";
  const std::vector<Finding> found = {stall};
  const auto finding = find_outlier_step(run.input(found));
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("the GPU works 6.00 ms longer and waits 14.0 ms longer, for several reasons"))
      << finding->title;
  EXPECT_EQ(finding->evidence[0].text,
            "Of its extra 20.0 ms, in 7.00 ms the data loader keeps it waiting; the GPU is busy for 6.00 ms longer; in "
            "5.00 ms the host waits for the GPU; 2.00 ms are not explained.");
  EXPECT_EQ(finding->severity, Severity::kFault) << "the loader is not half of it";
}

TEST(OutlierCause, MediansThatDoNotAddUpHideNoPart) {
  MadeRun run(ms_of({10, 10, 30, 10}));
  run.facts.busy.front().busy_by_step_ns = ms_of({8, 8, 16.5, 8});
  run.facts.idle.front().blame_by_step_ns[2][static_cast<std::size_t>(HostLabel::kCheckpoint)] = 12 * kMs;
  const auto finding = find(run);
  ASSERT_TRUE(finding);
  EXPECT_EQ(
      finding->evidence[0].text,
      "Of its extra 20.0 ms, 12.0 ms are this cause; the GPU is busy for 8.50 ms longer, copies to the host among "
      "it.");
}

TEST(OutlierCause, PartsOfOneNameAreOne) {
  MadeRun run(ms_of({10, 10, 30, 10}));
  run.facts.busy.front().busy_by_step_ns = ms_of({8, 8, 16, 8});
  IdleByCause& parts = run.facts.idle.front().blame_by_step_ns[2];
  parts[static_cast<std::size_t>(HostLabel::kPython)] = 6 * kMs;
  parts[static_cast<std::size_t>(HostLabel::kNoEvent)] = 6 * kMs;
  const auto finding = find(run);
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->title.find("Python works without launching anything"), std::string::npos) << finding->title;
  EXPECT_EQ(finding->evidence[0].text,
            "Of its extra 20.0 ms, 12.0 ms are this cause; the GPU is busy for 8.00 ms longer.");
}

TEST(OutlierCause, TheProfilersOwnWorkAndTheGpusOwnWaitsAreNoLateHost) {
  for (const auto& [label, words] :
       {std::pair{HostLabel::kProfiler, "the profiler itself works"},
        std::pair{HostLabel::kKernelGap, "the GPU waits between its kernels, for another stream or its own scheduling"},
        std::pair{HostLabel::kUnlinked, "the GPU waits for work whose launch was not recorded"}}) {
    MadeRun run(ms_of({10, 10, 30, 10}));
    run.facts.busy.front().busy_by_step_ns = ms_of({8, 8, 8, 8});
    run.facts.idle.front().blame_by_step_ns[2][static_cast<std::size_t>(label)] = 20 * kMs;
    const auto finding = find(run);
    ASSERT_TRUE(finding);
    EXPECT_TRUE(finding->title.ends_with(words)) << finding->title;
  }
}

TEST(OutlierCause, WhatGrewOnTheHostIsNamed) {
  MadeRun run(ms_of({10, 10, 30, 10}));
  run.facts.busy.front().busy_by_step_ns = ms_of({8, 8, 8, 8});
  run.facts.idle.front().blame_by_step_ns[2][static_cast<std::size_t>(HostLabel::kOperator)] = 20 * kMs;
  run.span("forward", 1 * kMs, 5 * kMs);
  run.span("log metrics 7", 22 * kMs, 18 * kMs);
  const auto finding = find(run);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("the host launches its work late (span `log metrics` takes 18.0 ms more)"))
      << finding->title;
  EXPECT_EQ(finding->advice[0],
            "Look at what `log metrics` does in this step, and whether every so many steps need it");
}

// The first step's compilation is the warm-up's, longer, and none of the later one's.
TEST(OutlierCause, ALaterCompilationIsOneBesideALongerEarlierOne) {
  MadeRun run(ms_of({300, 10, 10, 10, 10, 90, 10}));
  run.span("_compile.compile_inner (dynamo_timed)", 1 * kMs, 280 * kMs);
  run.span("_compile.compile_inner (dynamo_timed)", 341 * kMs, 80 * kMs);
  const auto finding = find(run);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("code is compiled again (_compile.compile_inner (dynamo_timed))"))
      << finding->title;
  EXPECT_NE(finding->advice[0].find("mark_dynamic"), std::string::npos);
  MadeRun early(ms_of({300, 90, 10, 10, 10, 10, 10}));
  early.span("_compile.compile_inner (dynamo_timed)", 1 * kMs, 280 * kMs);
  early.span("_compile.compile_inner (dynamo_timed)", 301 * kMs, 80 * kMs);
  const auto second = find(early);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->title.ends_with("code is compiled (_compile.compile_inner (dynamo_timed))")) << second->title;
}

std::optional<Finding> found_on_host(std::string_view picture) {
  const Trace trace = trace_from_text(picture, {1'000'000});
  const Facts facts = compute_facts(trace, {});
  EXPECT_TRUE(facts.ledger.is_host_only);
  return find_outlier_step({trace, facts});
}

TEST(OutlierCause, WithoutAGpuTheFrameThatGrewIsNamed) {
  const auto finding = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    py         [f      ]  [f      ]  [f                        ]  [f      ]  [f      ]
    py          [mm]       [mm]       [mm][g                 ]     [mm]       [mm]
  )");
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("`g` takes 20.0 ms more")) << finding->title;
}

// What opens in the slow step and lies mostly in the others, or holds itself, has no more of it than its part.
TEST(OutlierCause, WhatLiesMostlyInOtherStepsIsNoCause) {
  const auto finding = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    span                                                    [epoch                      ]
    py                                                     [module                         ]
    op         [mm]       [mm]       [mm                   ]      [mm]       [mm]
  )");
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("operator `mm` takes 19.0 ms more")) << finding->title;
}

TEST(OutlierCause, ARowThatHoldsItsLikeCountsOnce) {
  const auto finding = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    py         [f]        [f]        [f                      ]     [f]        [f]
    py                                [f                   ]
    py                                 [f                 ]
  )");
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->title.ends_with("`f` takes 22.0 ms more")) << finding->title;
}

TEST(OutlierCause, WithoutAGpuASilenceIsSaidAndWhatRanMeanwhile) {
  const auto alone = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    op         [mm]       [mm]       [mm]                         [mm]       [mm]
  )");
  ASSERT_TRUE(alone);
  EXPECT_TRUE(alone->title.ends_with("for 18.0 ms more nothing is recorded on its thread, after `mm`")) << alone->title;
  EXPECT_EQ(alone->evidence[0].text, "Of its extra 18.0 ms, 18.0 ms are this cause.");
  const auto beside = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    op         [mm]       [mm]       [mm]                         [mm]       [mm]
    op@other                             [decode            ]
  )");
  ASSERT_TRUE(beside);
  EXPECT_TRUE(beside->evidence[0].text.ends_with("Meanwhile `decode` runs on another thread."))
      << beside->evidence[0].text;
}

TEST(OutlierCause, WithoutAGpuManySmallOperatorsAreSummed) {
  const auto many = found_on_host(R"(
    step      [1        ][2        ][3                          ][4        ][5        ]
    op         [a][b][c]  [a][b][c]  [a     ][b    ][c        ]   [a][b][c]  [a][b][c]
  )");
  ASSERT_TRUE(many);
  EXPECT_TRUE(many->title.ends_with("its operators take 17.0 ms more, none of them half of that")) << many->title;
}

}  // namespace
}  // namespace stepscope

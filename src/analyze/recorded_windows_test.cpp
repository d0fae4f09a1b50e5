// Time between recorded windows is no idle time, and no step lasts across it.
#include "analyze/recorded_windows.h"

#include <gtest/gtest.h>

#include "analyze/facts.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

// Two windows of two steps each, 200 us apart.
Trace two_windows() {
  Trace trace = trace_from_text(R"(
    step      [1   ][2   ]                    [7   ][8   ]
    call       [L1]  [L2]                      [L3]  [L4]
    gpu/7        [K1] [K2=]                      [K3] [K4=]
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
  trace.info.windows = {{0, 125'000}, {315'000, 500'000}};
  return trace;
}

TEST(RecordedWindows, TimeBetweenThemIsNoIdleTime) {
  const Facts facts = compute_facts(two_windows(), {});
  ASSERT_EQ(facts.steps.steps.size(), 4U);
  ASSERT_EQ(facts.steps.unrecorded.size(), 1U);
  const Interval gap = facts.steps.unrecorded[0];
  EXPECT_EQ(gap.start_ns, facts.steps.steps[1].gpu.end_ns);
  EXPECT_EQ(gap.end_ns, facts.steps.steps[2].gpu.start_ns);
  EXPECT_EQ(facts.steps.recorded_ns(), facts.steps.window.length_ns() - gap.length_ns());
  DurationNs steps_ns = 0;
  for (const Step& step : facts.steps.steps) steps_ns += step.duration_ns();
  EXPECT_EQ(facts.steps.recorded_ns(), steps_ns);

  ASSERT_EQ(facts.busy.size(), 1U);
  EXPECT_EQ(facts.busy[0].window_ns, steps_ns);
  EXPECT_EQ(facts.busy[0].gpu_busy_ns + facts.busy[0].idle_ns, steps_ns);
  DurationNs blame_ns = 0, edges_ns = 0;
  for (std::size_t i = 0; i < kHostLabelCount; ++i) {
    blame_ns += facts.idle[0].blame_ns[i];
    edges_ns += facts.idle[0].edges_ns[i];
  }
  EXPECT_EQ(blame_ns, facts.busy[0].idle_ns);
  EXPECT_EQ(edges_ns, facts.busy[0].idle_ns);
}

// As a file of several cycles has it, or one that lost the spans between.
TEST(RecordedWindows, WithoutThemTheNumbersTellTheGap) {
  EXPECT_TRUE(compute_facts(two_windows(), {}).steps.missing.empty()) << "the windows say why";
  Trace trace = two_windows();
  trace.info.windows.clear();
  const Facts facts = compute_facts(trace, {});
  ASSERT_EQ(facts.steps.missing.size(), 1U);
  ASSERT_EQ(facts.steps.unrecorded.size(), 1U);
  EXPECT_EQ(facts.busy[0].window_ns, facts.steps.recorded_ns());
}

TEST(RecordedWindows, WholeFileLeavesOutWhatLiesBetween) {
  FactOptions options;
  options.whole_file_window = true;
  const Facts facts = compute_facts(two_windows(), options);
  EXPECT_EQ(facts.steps.unrecorded, (IntervalSet{{130'000, 315'000}})) << "the last kernel ends after its window";
}

TEST(RecordedWindows, StepsThatFollowByNumberEndAloneAtAWindow) {
  Trace trace = trace_from_text(R"(
    step      [1   ][2   ]                    [3   ][4   ]
    gpu/7        [a]  [b=]                      [c]  [d=]
  )");
  trace.info.windows = {{0, 125'000}, {315'000, 500'000}};
  const Facts facts = compute_facts(trace, {});
  ASSERT_EQ(facts.steps.steps.size(), 4U);
  EXPECT_LT(facts.steps.steps[1].duration_ns(), 100'000);
}

TEST(RecordedWindows, StepCutByAWindowIsDropped) {
  std::vector<StepMark> marks = {{1, {0, 100}, false}, {2, {100, 400}, false}, {3, {400, 500}, false}};
  Trace trace;
  trace.info.windows = {{0, 150}, {350, 600}};
  cut_marks_at_windows(trace, marks);
  ASSERT_EQ(marks.size(), 2U);
  EXPECT_EQ(marks[0].number, 1);
  EXPECT_TRUE(marks[0].ends_alone);
  EXPECT_FALSE(marks[1].ends_alone);
}

// Five steps that follow each other; a launch and its kernel in each.
Trace five_steps() {
  return trace_from_text(R"(
    step      [1   ][2   ][3   ][4   ][5   ]
    call       [L1]  [L2]  [L3]  [L4]  [L5]
    gpu/7        [K1] [K2=] [K3=] [K4=] [K5=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      L5 = cudaLaunchKernel corr 5
      K1 = a corr 1
      K2 = a corr 2
      K3 = a corr 3
      K4 = a corr 4
      K5 = a corr 5
  )");
}

std::vector<std::int64_t> numbers_of(const Steps& steps) {
  std::vector<std::int64_t> numbers;
  for (const Step& step : steps.steps) numbers.push_back(step.number);
  return numbers;
}

TEST(RecordedWindows, StepsInWhichRecordsWereLostAreLeftOut) {
  Trace trace = five_steps();
  // From within step 2 into step 3.
  trace.info.windows = {{0, 70'000}, {130'000, 400'000}};
  trace.notes.add(NoteKind::kRecordsDropped, NoteSeverity::kLost, 0, "the memory was full", 12);
  const Facts facts = compute_facts(trace, {});
  EXPECT_EQ(numbers_of(facts.steps), (std::vector<std::int64_t>{1, 4, 5}));
  EXPECT_EQ(facts.steps.left_out, (std::vector<std::int64_t>{2, 3}));
  ASSERT_EQ(facts.steps.unrecorded.size(), 1U);
  EXPECT_EQ(facts.steps.unrecorded[0].start_ns, facts.steps.steps[0].gpu.end_ns);
  EXPECT_EQ(facts.steps.unrecorded[0].end_ns, facts.steps.steps[1].gpu.start_ns);
  // Up to the end.
  trace = five_steps();
  trace.info.windows = {{0, 220'000}, {400'000, 400'000}};
  trace.notes.add(NoteKind::kRecordsDropped, NoteSeverity::kLost, 0, "the memory was full", 12);
  EXPECT_EQ(numbers_of(compute_facts(trace, {}).steps), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(RecordedWindows, StepsWhoseGpuRecordsWereLostAreLeftOut) {
  Trace trace = trace_from_text(R"(
    step      [1   ][2   ][3   ][4   ]
    call       [L1]  [L2]  [L3]  [L4]
    gpu/7        [K1]       [K3=] [K4=]
    where
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      K1 = a corr 1
      K3 = a corr 3
      K4 = a corr 4
  )");
  EXPECT_EQ(numbers_of(compute_facts(trace, {}).steps).size(), 4U) << "a launch without a record may have failed";
  trace.notes.add(NoteKind::kRecordsDropped, NoteSeverity::kLost, 0, "lost by CUPTI, device 0", 1);
  const Facts facts = compute_facts(trace, {});
  EXPECT_EQ(numbers_of(facts.steps), (std::vector<std::int64_t>{1, 3, 4}));
  EXPECT_EQ(facts.steps.left_out, std::vector<std::int64_t>{2});
  ASSERT_EQ(facts.steps.unrecorded.size(), 1U);
  EXPECT_EQ(facts.steps.recorded_ns(), facts.steps.steps[0].duration_ns() + facts.steps.steps[1].duration_ns() +
                                           facts.steps.steps[2].duration_ns());
}

}  // namespace
}  // namespace stepscope

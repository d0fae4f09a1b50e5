// Rules about the recording itself: launch-blocking, warm-up-in-window, profiler-distortion, graph-step,
// incomplete-data.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_launches(int blocking, int free, DurationNs kernel_ns = 30'000) {
  MadeRun run;
  for (int k = 0; k < blocking + free; ++k) {
    const TimeNs start = 1000 + k * 100'000;
    const CallId launch =
        run.call(ApiKind::kLaunch, "cudaLaunchKernel", start, k < blocking ? kernel_ns + 20'000 : 5'000);
    run.link(launch, run.gpu_event(KernelClass::kMatmul, "gemm", start + 10'000, kernel_ns));
  }
  return run;
}

TEST(LaunchBlocking, from_ninety_five_percent_of_the_long_kernels_on) {
  MadeRun silent = run_with_launches(94, 6);
  EXPECT_FALSE(find_launch_blocking(silent.input()));
  MadeRun fault = run_with_launches(95, 5);
  ASSERT_TRUE(find_launch_blocking(fault.input()));
  EXPECT_EQ(find_launch_blocking(fault.input())->severity, Severity::kFault);
}

TEST(LaunchBlocking, nine_kernels_or_short_ones_decide_nothing) {
  MadeRun few = run_with_launches(9, 0);
  EXPECT_FALSE(find_launch_blocking(few.input()));
  MadeRun enough = run_with_launches(10, 0);
  EXPECT_TRUE(find_launch_blocking(enough.input()));
  MadeRun brief = run_with_launches(100, 0, 20'000);
  EXPECT_FALSE(find_launch_blocking(brief.input()));
}

TEST(WarmUpInWindow, one_sign_is_enough_and_none_is_silent) {
  MadeRun none;
  none.call(ApiKind::kLaunch, "cudaLaunchKernel", 1000, 5000);
  none.span("torch/_dynamo/eval_frame.py(500): compile_wrapper", 1000, 5000);
  EXPECT_FALSE(find_warm_up_in_window(none.input()));
  MadeRun loads;
  loads.call(ApiKind::kModuleLoad, "cuModuleLoadData", 1000, 5000);
  ASSERT_TRUE(find_warm_up_in_window(loads.input()));
  EXPECT_EQ(find_warm_up_in_window(loads.input())->severity, Severity::kNote);
}

TEST(WarmUpInWindow, growth_is_more_allocations_than_frees) {
  MadeRun grows;
  grows.call(ApiKind::kAllocate, "cudaMalloc", 1000, 5000);
  EXPECT_TRUE(find_warm_up_in_window(grows.input()));
  grows.call(ApiKind::kFree, "cudaFree", 9000, 5000);
  EXPECT_FALSE(find_warm_up_in_window(grows.input()));
}

TEST(WarmUpInWindow, outside_the_steps_it_is_no_matter) {
  MadeRun run;
  run.call(ApiKind::kModuleLoad, "cuModuleLoadData", 41 * MadeRun::kMs, 5000);
  EXPECT_FALSE(find_warm_up_in_window(run.input()));
}

TEST(WarmUpInWindow, the_slowest_step_is_told_from_one_and_a_half_times_the_median_on) {
  MadeRun even({15 * MadeRun::kMs - 1, 10 * MadeRun::kMs, 10 * MadeRun::kMs});
  even.call(ApiKind::kModuleLoad, "cuModuleLoadData", 1000, 5000);
  EXPECT_EQ(find_warm_up_in_window(even.input())->evidence.size(), 1U);
  MadeRun slow({15 * MadeRun::kMs, 10 * MadeRun::kMs, 10 * MadeRun::kMs});
  slow.call(ApiKind::kModuleLoad, "cuModuleLoadData", 1000, 5000);
  EXPECT_EQ(find_warm_up_in_window(slow.input())->evidence.back().text,
            "Step 4 takes 15.0 ms, the median step 10.0 ms.");
}

TEST(WarmUpInWindow, a_compilation_after_three_steps_without_a_sign_is_none) {
  MadeRun warming(10 * MadeRun::kMs, 6);
  warming.span("compile_fx_inner (dynamo_timed)", 1000, 5000);
  warming.span("compile_fx_inner (dynamo_timed)", 31 * MadeRun::kMs, 5000);
  EXPECT_EQ(find_warm_up_in_window(warming.input())->title,
            "The recorded steps were still warming up (signs of it in 2 of 6 steps)");
  MadeRun again(10 * MadeRun::kMs, 6);
  again.span("compile_fx_inner (dynamo_timed)", 31 * MadeRun::kMs, 5000);
  const auto alone = find_warm_up_in_window(again.input());
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->title, "Code is compiled again in 1 of 6 steps, after steps without: that is no warm-up");
  EXPECT_NE(alone->advice[0].find("mark_dynamic"), std::string::npos);
  Finding outlier;
  outlier.id = "outlier-step";
  EXPECT_FALSE(find_warm_up_in_window(again.input(std::vector<Finding>{outlier}))) << "which tells it";
}

TEST(ProfilerDistortion, recorded_against_the_high_end_of_the_estimate) {
  MadeRun silent(10'900'000);
  silent.set_unprofiled({8'000'000, 9'000'000, 10'000'000});
  EXPECT_FALSE(find_profiler_distortion(silent.input()));
  MadeRun note(11'100'000);
  note.set_unprofiled({8'000'000, 9'000'000, 10'000'000});
  ASSERT_TRUE(find_profiler_distortion(note.input()));
  EXPECT_EQ(find_profiler_distortion(note.input())->severity, Severity::kNote);
  // No replay of this very run: the range is the step line's own, and nothing is said of it.
  EXPECT_TRUE(find_profiler_distortion(note.input())->title.ends_with("about 9.00 ms (8.00 ms to 10.0 ms)"))
      << find_profiler_distortion(note.input())->title;
}

TEST(GraphStep, from_half_of_the_events_on) {
  MadeRun run;
  run.facts.ledger.gpu_event_count = 1000;
  run.facts.launches.graph_launch_count = 3;
  run.facts.launches.graph_event_count = 490;
  EXPECT_FALSE(find_graph_step(run.input()));
  run.facts.launches.graph_event_count = 510;
  ASSERT_TRUE(find_graph_step(run.input()));
  EXPECT_EQ(find_graph_step(run.input())->severity, Severity::kInformation);
}

TEST(IncompleteData, launches_without_events_from_one_percent_on) {
  MadeRun run;
  run.facts.ledger.launch_count = 1000;
  run.facts.ledger.launch_without_gpu_event_count = 9;
  EXPECT_FALSE(find_incomplete_data(run.input()));
  run.facts.ledger.launch_without_gpu_event_count = 11;
  ASSERT_TRUE(find_incomplete_data(run.input()));
  EXPECT_EQ(find_incomplete_data(run.input())->severity, Severity::kNote);
  run.facts.ledger.headline_withheld = "30 of 32 launches have no kernel.";
  EXPECT_EQ(find_incomplete_data(run.input())->severity, Severity::kFault);
}

TEST(IncompleteData, one_swallowing_duration_is_told) {
  MadeRun run;
  run.facts.ledger.swallowing_duration_count = 1;
  EXPECT_TRUE(find_incomplete_data(run.input()));
}

TEST(IncompleteData, what_was_repaired_is_not_lost) {
  MadeRun run;
  run.trace.notes.add(NoteKind::kInvalidEscape, NoteSeverity::kRecovered, 10, "x");
  EXPECT_FALSE(find_incomplete_data(run.input()));
  run.trace.notes.add(NoteKind::kFileCut, NoteSeverity::kLost, 4639, "x");
  ASSERT_TRUE(find_incomplete_data(run.input()));
  EXPECT_EQ(find_incomplete_data(run.input())->evidence[0].text,
            "The file is damaged: file cut, 1 time, first at byte 4,639.");
  run.trace.notes.add(NoteKind::kRecordsDropped, NoteSeverity::kLost, 0, "x", 1200);
  EXPECT_EQ(find_incomplete_data(run.input())->evidence[1].text,
            "The recorder had no room for 1,200 records: give it more memory, or record fewer steps.");
}

}  // namespace
}  // namespace stepscope

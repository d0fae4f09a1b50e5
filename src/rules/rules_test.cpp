// The order of findings, what silences what, and the verdict's sentences.
#include "rules/rules.h"

#include <gtest/gtest.h>

#include <set>

#include "support/made_run.h"

namespace stepscope {
namespace {

Finding made(std::string_view id, Severity severity, DurationNs saving_ns) {
  Finding finding;
  finding.id = id;
  finding.severity = severity;
  if (saving_ns > 0) finding.saving = Estimate{saving_ns, saving_ns, saving_ns};
  return finding;
}

TEST(Rules, ids_are_unique_and_kebab_case) {
  std::set<std::string_view> seen;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(seen.insert(rule.id).second) << rule.id;
    for (const char letter : rule.id) EXPECT_TRUE((letter >= 'a' && letter <= 'z') || letter == '-') << rule.id;
  }
  EXPECT_EQ(seen.size(), 21U);
}

TEST(Rules, order_of_reading) {
  std::vector<Finding> findings = {
      made("compute-bound", Severity::kInformation, 0), made("profiler-distortion", Severity::kNote, 0),
      made("exposed-copy", Severity::kNote, 5),         made("host-overhead", Severity::kFault, 900),
      made("hidden-sync", Severity::kFault, 10),        made("data-loader-stall", Severity::kFault, 400),
      made("incomplete-data", Severity::kNote, 0)};
  sort_for_reading(findings);
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"incomplete-data", "data-loader-stall", "hidden-sync", "host-overhead",
                                           "exposed-copy", "profiler-distortion", "compute-bound"}));
}

MadeRun run_with_stall() {
  MadeRun run;
  run.set_saving(Transform::kLoaderReady, 0.5);
  run.blame(HostLabel::kDataLoader, 5 * MadeRun::kMs, "get_batch");
  run.gpu_event(KernelClass::kMatmul, "gemm", 1000, MadeRun::kMs);
  return run;
}

TEST(Rules, a_withheld_headline_leaves_nothing_else) {
  MadeRun run = run_with_stall();
  run.facts.ledger.headline_withheld = "30 of 32 launches have no kernel.";
  const auto findings = find_all(run.input());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "incomplete-data");
  EXPECT_EQ(write_verdict(run.input(), findings),
            "This recording cannot carry a verdict: 30 of 32 launches have no kernel.");
}

TEST(Rules, launches_that_block_silence_the_rest) {
  MadeRun run = run_with_stall();
  for (int k = 0; k < 20; ++k) {
    const CallId launch = run.call(ApiKind::kLaunch, "cudaLaunchKernel", 20'000'000 + k * 100'000, 60'000);
    run.link(launch, run.gpu_event(KernelClass::kMatmul, "gemm", 20'010'000 + k * 100'000, 40'000));
  }
  const auto findings = find_all(run.input());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "launch-blocking");
}

TEST(Rules, durations_that_cannot_be_true_carry_no_finding) {
  MadeRun run = run_with_stall();
  run.facts.timeline.swallowing = {run.gpu_event(KernelClass::kOther, "sticky", 5 * MadeRun::kMs, 400'000)};
  run.facts.ledger.swallowing_duration_count = 1;
  EXPECT_EQ(find_all(run.input()).size(), 2U);  // 1 % of the busy time: the stall is still told
  run.facts.timeline.swallowing = {run.gpu_event(KernelClass::kOther, "sticky", 6 * MadeRun::kMs, 500'000)};
  const auto findings = find_all(run.input());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "incomplete-data");
}

TEST(Verdict, says_the_cause_and_what_mending_it_brings) {
  MadeRun run = run_with_stall();
  EXPECT_EQ(
      write_verdict(run.input(), find_all(run.input())),
      "The GPU waits for data during half of every step. With the data ready in time the step would take about 5.00 "
      "ms instead of 10.0 ms, 2.0 times faster.");
}

TEST(Verdict, a_healthy_run_is_compute_bound) {
  MadeRun run;
  run.gpu_event(KernelClass::kMatmul, "gemm", 1000, MadeRun::kMs);
  run.set_saving(Transform::kHostZero, 0.03);
  EXPECT_EQ(write_verdict(run.input(), find_all(run.input())),
            "Compute-bound: the GPU is busy 100 % of the median step. Only faster kernels help now.");
}

TEST(Verdict, compute_bound_with_a_note_worth_five_percent_names_it) {
  MadeRun run;
  run.gpu_event(KernelClass::kMatmul, "gemm", 1000, MadeRun::kMs);
  Finding note = made("exposed-copy", Severity::kNote, 490'000);
  note.saving_ratio = 0.049;
  const Finding bound = made("compute-bound", Severity::kInformation, 0);
  const std::string busy = "Compute-bound: the GPU is busy 100 % of the median step.";
  EXPECT_EQ(write_verdict(run.input(), {note, bound}), busy + " Only faster kernels help now.");
  note.saving_ratio = 0.051;
  EXPECT_EQ(write_verdict(run.input(), {note, bound}),
            busy + " Besides faster kernels, finding 1 (exposed-copy) would save 5.1 %.");
}

// A quarter busy in each step of 10 ms: 30 ms idle over the four.
MadeRun run_of_idle_gpu() {
  MadeRun run;
  DeviceBusy& busy = run.facts.busy.front();
  for (std::size_t step = 0; step < 4; ++step) {
    const auto at = static_cast<TimeNs>(step) * 10 * MadeRun::kMs;
    busy.busy.push_back({at, at + 2'500'000});
    busy.busy_by_step_ns[step] = 2'500'000;
  }
  busy.gpu_busy_ns = 10 * MadeRun::kMs;
  busy.idle_ns = 30 * MadeRun::kMs;
  return run;
}

TEST(Verdict, an_idle_gpu_says_what_most_of_its_idle_time_is) {
  const auto verdict = [](MadeRun& run) { return write_verdict(run.input(), {}); };
  const std::string opening = "No fault found; the GPU is busy 25 % of the median step";
  MadeRun none = run_of_idle_gpu();
  EXPECT_EQ(verdict(none), opening + ", and no single cause explains the rest.");
  MadeRun gaps = run_of_idle_gpu();
  gaps.blame(HostLabel::kKernelGap, 6 * MadeRun::kMs);
  EXPECT_TRUE(verdict(gaps).starts_with(opening + ". 80 % of the idle time are gaps before kernels")) << verdict(gaps);
  MadeRun drained = run_of_idle_gpu();
  drained.facts.idle.front().drained_by_wait_ns = 27 * MadeRun::kMs;
  EXPECT_TRUE(verdict(drained).starts_with(opening + ". 90 % of the idle time begin where the host waits"));
}

TEST(Verdict, other_gpus_that_work_meanwhile_are_named) {
  MadeRun run = run_of_idle_gpu();
  run.trace.devices.push_back({});
  run.trace.devices.number[DeviceId(1)] = 3;
  DeviceBusy other = run.facts.busy.front();
  other.device = DeviceId(1);
  for (Interval& at : other.busy) at = {at.start_ns + 2'500'000, at.start_ns + 10 * MadeRun::kMs};
  other.gpu_busy_ns = 30 * MadeRun::kMs;
  run.facts.busy.push_back(other);
  const std::string in_turn = write_verdict(run.input(), {});
  EXPECT_NE(in_turn.find(". For 100 % of its idle time device 3 works meanwhile, one GPU after the other"),
            std::string::npos)
      << in_turn;
  for (Interval& at : run.facts.busy.back().busy) at.start_ns -= 2'500'000;
  run.facts.busy.back().gpu_busy_ns = 40 * MadeRun::kMs;
  EXPECT_NE(write_verdict(run.input(), {}).find("device 3 works meanwhile, which has more to do"), std::string::npos);
}

TEST(Verdict, synchronizations_that_return_too_early_show_a_late_gpu_clock) {
  for (const DurationNs late_ns : {10'000, 100'000}) {
    MadeRun run = run_of_idle_gpu();
    run.blame(HostLabel::kKernelGap, 7 * MadeRun::kMs);
    for (const Step& step : run.facts.steps.steps) {
      const CallId launch = run.call(ApiKind::kLaunch, "cudaLaunchKernel", step.gpu.start_ns, 5000);
      run.call(ApiKind::kStreamSync, "cudaStreamSynchronize", step.gpu.start_ns + 5000, MadeRun::kMs);
      run.link(launch, run.gpu_event(KernelClass::kMatmul, "gemm", step.gpu.start_ns + 5000, MadeRun::kMs + late_ns));
    }
    const bool told =
        write_verdict(run.input(), {}).find("The GPU's clock is ahead of the host's: 4 of 4") != std::string::npos;
    EXPECT_EQ(told, late_ns > 20'000);
  }
}

TEST(Verdict, a_recorded_warm_up_leads_where_it_takes_most_of_the_time) {
  MadeRun run({500 * MadeRun::kMs, 10 * MadeRun::kMs, 10 * MadeRun::kMs});
  run.gpu_event(KernelClass::kMatmul, "gemm", 1000, MadeRun::kMs);
  run.set_saving(Transform::kHostZero, 0.03);
  run.call(ApiKind::kModuleLoad, "cuModuleLoadData", 1000, 5000);
  run.facts.busy.front().busy_by_step_ns = {9 * MadeRun::kMs, 9 * MadeRun::kMs, 9 * MadeRun::kMs};
  run.facts.busy.front().gpu_busy_ns = 27 * MadeRun::kMs;
  EXPECT_EQ(
      write_verdict(run.input(), find_all(run.input())),
      "The recording holds the warm-up: step 4 takes 500 ms, the median step 10.0 ms, and the GPU is busy 5.2 % of "
      "the time. Record later steps to judge the training itself.");
}

TEST(Verdict, a_far_costlier_finding_is_mentioned) {
  MadeRun run;
  Finding first = made("hidden-sync", Severity::kFault, 1'000'000);
  Finding general = made("host-overhead", Severity::kFault, 1'900'000);
  first.saving_ratio = 0.1;
  general.saving_ratio = 0.19;
  const std::string sync = "A line in mid-step makes the host wait for the GPU, and the GPU then waits for the host.";
  EXPECT_EQ(write_verdict(run.input(), {first, general}), sync);
  general.saving->mid_ns = 2'000'000;
  EXPECT_EQ(write_verdict(run.input(), {first, general}),
            sync + " Costlier still: host-overhead, 2.00 ms a step (19 %), finding 2.");
}

TEST(Verdict, without_steps_it_says_how_to_mark_them) {
  MadeRun run;
  run.facts.steps.steps.clear();
  run.facts.steps.median_ns.reset();
  run.facts.busy.front().gpu_busy_ns = 15 * MadeRun::kMs;
  run.refuse_what_ifs();
  const std::string verdict = write_verdict(run.input(), find_all(run.input()));
  EXPECT_NE(verdict.find("No steps are marked"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("38 %"), std::string::npos) << verdict;
}

TEST(Verdict, an_empty_file_says_so) {
  MadeRun run;
  run.facts.busy.clear();
  run.facts.idle.clear();
  run.trace.devices = {};
  run.refuse_what_ifs();
  EXPECT_EQ(write_verdict(run.input(), find_all(run.input())),
            "The file holds no GPU work, so there is nothing to say about a GPU.");
}

}  // namespace
}  // namespace stepscope

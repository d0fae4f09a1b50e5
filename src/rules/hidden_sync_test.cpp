// hidden-sync: how many waits, what they cost, and which waits are no fault.
#include <gtest/gtest.h>

#include <algorithm>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

// `waits_a_step` blocked waits in each step, with so much of the launches still to come.
MadeRun run_with_waits(int waits_a_step, double whole_saving, double to_come = 0.5) {
  MadeRun run;
  for (std::size_t step = 0; step < run.facts.steps.steps.size(); ++step) {
    for (int k = 0; k < waits_a_step; ++k) {
      Wait wait;
      wait.call = run.call(ApiKind::kStreamSync, "cudaStreamSynchronize",
                           run.facts.steps.steps[step].host.start_ns + (k + 1) * 100'000, 50'000);
      wait.blocked = true;
      wait.step = step;
      wait.launches_to_come_ratio = to_come;
      run.facts.waits.push_back(wait);
    }
  }
  run.set_saving(Transform::kHiddenSyncsNotWaited, whole_saving / 2);
  run.set_saving(Transform::kHiddenSyncsRemoved, whole_saving);
  return run;
}

TEST(HiddenSync, two_a_step_are_a_fault_from_one_percent_on) {
  MadeRun cheap = run_with_waits(2, 0.008);
  ASSERT_TRUE(find_hidden_sync(cheap.input()));
  EXPECT_EQ(find_hidden_sync(cheap.input())->severity, Severity::kNote);
  MadeRun dear = run_with_waits(2, 0.012);
  EXPECT_EQ(find_hidden_sync(dear.input())->severity, Severity::kFault);
}

TEST(HiddenSync, one_a_step_counts_from_five_percent_on) {
  MadeRun cheap = run_with_waits(1, 0.045);
  EXPECT_FALSE(find_hidden_sync(cheap.input()));
  MadeRun dear = run_with_waits(1, 0.055);
  EXPECT_TRUE(find_hidden_sync(dear.input()));
}

TEST(HiddenSync, a_wait_at_the_end_of_the_step_is_legal) {
  MadeRun run = run_with_waits(3, 0.1, 0.049);
  EXPECT_FALSE(find_hidden_sync(run.input()));
}

TEST(HiddenSync, loader_pageable_copy_and_free_are_others_business) {
  MadeRun run = run_with_waits(3, 0.1);
  for (std::size_t at = 0; at < run.facts.waits.size(); ++at) {
    Wait& wait = run.facts.waits[at];
    if (at % 3 == 0) wait.in_loader_or_checkpoint = true;
    if (at % 3 == 1) wait.after_pageable_copy = true;
    if (at % 3 == 2) wait.kind = WaitKind::kFree;
  }
  EXPECT_FALSE(find_hidden_sync(run.input()));
}

TEST(HiddenSync, shows_both_prices_and_takes_the_larger) {
  MadeRun run = run_with_waits(2, 0.2);
  const auto finding = find_hidden_sync(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->saving->low_ns, MadeRun::kMs);
  EXPECT_EQ(finding->saving->mid_ns, 2 * MadeRun::kMs);
  EXPECT_NE(finding->title.find("2 such waits a step"), std::string::npos) << finding->title;
  EXPECT_NE(finding->evidence[1].text.find("not waiting saves 1.00 ms"), std::string::npos)
      << finding->evidence[1].text;
}

// The high end is the whole function's; where the host decides the step, two runs differ by more than that.
TEST(HiddenSync, the_function_is_the_high_end_and_a_measurement_is_wider) {
  MadeRun run = run_with_waits(2, 0.1);  // of 10 ms
  run.set_saving(Transform::kHiddenSyncFunctionsRemoved, 0.2);
  const auto by_gpu = find_hidden_sync(run.input());
  ASSERT_TRUE(by_gpu);
  EXPECT_EQ(by_gpu->saving->mid_ns, MadeRun::kMs);
  EXPECT_EQ(by_gpu->saving->high_ns, 2 * MadeRun::kMs);
  const auto moves = [](const Finding& finding) {
    return std::any_of(finding.evidence.begin(), finding.evidence.end(), [](const Evidence& evidence) {
      return evidence.text.find("nothing to 4.00 ms") != std::string::npos;
    });
  };
  EXPECT_FALSE(moves(*by_gpu));
  run.set_saving(Transform::kHostZero, 0.7);  // 8 ms after the repair, of which the GPU needs 3: 40 % of 5 is 2
  EXPECT_TRUE(moves(*find_hidden_sync(run.input())));
}

TEST(HiddenSync, found_without_a_re_simulation_too) {
  MadeRun run = run_with_waits(2, 0.2);
  run.facts.idle.front().drained_by_wait_ns = 4 * MadeRun::kMs;
  run.refuse_what_ifs();
  const auto finding = find_hidden_sync(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_FALSE(finding->saving);
}

}  // namespace
}  // namespace stepscope

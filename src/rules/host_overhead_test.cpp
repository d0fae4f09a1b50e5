// host-overhead: what is left for the host once the specific causes are taken away.
#include <gtest/gtest.h>

#include "rules/costs.h"
#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_floor(double floor_saving, Estimate step = {10'000'000, 10'000'000, 10'000'000}) {
  MadeRun run;
  run.set_unprofiled(step);
  run.set_saving(Transform::kSpecificRemoved, 0);
  run.set_saving(Transform::kHostZero, floor_saving);
  return run;
}

TEST(HostOverhead, a_fault_from_fifteen_percent_on) {
  MadeRun silent = run_with_floor(0.14);
  EXPECT_FALSE(find_host_overhead(silent.input()));
  MadeRun fault = run_with_floor(0.16);
  const auto finding = find_host_overhead(fault.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_EQ(finding->saving->mid_ns, 1'600'000);
}

TEST(HostOverhead, the_low_end_of_the_estimate_decides) {
  MadeRun run = run_with_floor(0, {8'000'000, 10'000'000, 12'000'000});
  WhatIf& floor = run.facts.what_ifs.results[static_cast<std::size_t>(Transform::kHostZero)];
  floor.step_unprofiled = {7'000'000, 7'000'000, 7'000'000};  // 30 % below the middle, 12.5 % below the low end
  EXPECT_FALSE(find_host_overhead(run.input()));
}

TEST(HostOverhead, loader_and_other_specific_causes_are_not_counted) {
  MadeRun loader = run_with_floor(0.6);
  loader.set_saving(Transform::kSpecificRemoved, 0.55);  // the loader is most of it
  EXPECT_FALSE(find_host_overhead(loader.input()));

  MadeRun pause = run_with_floor(0.6);
  Finding named;
  named.id = "host-pause";
  named.saving = Estimate{5'000'000, 5'000'000, 5'000'000};
  const std::vector<Finding> found = {named};
  EXPECT_FALSE(find_host_overhead(pause.input(found)));
  EXPECT_TRUE(find_host_overhead(pause.input()));
}

TEST(HostOverhead, without_a_re_simulation_it_is_a_note_from_thirty_percent_idle_on) {
  MadeRun silent;
  silent.blame(HostLabel::kOperator, 2'900'000, "aten::mm");
  silent.refuse_what_ifs();
  EXPECT_FALSE(find_host_overhead(silent.input()));
  MadeRun note;
  note.facts.launches.launch_count = 100;
  note.blame(HostLabel::kOperator, 2'000'000, "aten::mm");
  note.blame(HostLabel::kLaunch, 1'100'000, "cudaLaunchKernel");
  note.refuse_what_ifs();
  const auto finding = find_host_overhead(note.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kNote);
  EXPECT_FALSE(finding->saving);
  note.facts.launches.launch_count = 0;  // a file of kernels alone cannot say that the host was late
  EXPECT_FALSE(find_host_overhead(note.input()));
}

TEST(HostOverhead, the_steps_range_is_the_floors_and_keeps_what_others_claim) {
  MadeRun run = run_with_floor(0.8, {8'000'000, 10'000'000, 12'000'000});
  const Cost alone = cost_of(run.input(), Transform::kHostZero);
  EXPECT_EQ(alone.left->low_ns, 1'600'000);
  EXPECT_EQ(alone.left->mid_ns, 2'000'000);
  EXPECT_EQ(alone.left->high_ns, 2'400'000);
  const Cost rest =
      cost_of(run.input(), Estimate{1'000'000, 5'000'000, 7'000'000}, *run.facts.what_ifs.find(Transform::kHostZero));
  EXPECT_EQ(rest.left->low_ns, 4'600'000);  // 3 ms that another finding saves stay in the step
  EXPECT_EQ(rest.left->mid_ns, 5'000'000);
  EXPECT_EQ(rest.left->high_ns, 5'400'000);
}

}  // namespace
}  // namespace stepscope

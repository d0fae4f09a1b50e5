// unfused-optimizer: many short kernels, launched one by one.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_kernels(int a_step, DurationNs length_ns, double saving, KernelClass kind = KernelClass::kOptimizer) {
  MadeRun run;
  for (const Step& step : run.facts.steps.steps) {
    for (int k = 0; k < a_step; ++k)
      run.gpu_event(kind, "elementwise_kernel", step.gpu.start_ns + k * 30'000, length_ns);
  }
  run.span("Optimizer.step#AdamW.step", 0, MadeRun::kMs);
  run.set_saving(Transform::kOptimizerFused, saving);
  return run;
}

TEST(UnfusedOptimizer, from_two_hundred_short_kernels_on) {
  MadeRun few = run_with_kernels(199, 1'400, 0.1);
  EXPECT_FALSE(find_unfused_optimizer(few.input()));
  MadeRun many = run_with_kernels(200, 1'400, 0.1);
  const auto finding = find_unfused_optimizer(many.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_EQ(finding->title, "AdamW.step launches 200 kernels a step of 1.40 us each");
}

TEST(UnfusedOptimizer, kernels_of_twenty_microseconds_are_fused_enough) {
  MadeRun longer = run_with_kernels(300, 20'000, 0.1);
  EXPECT_FALSE(find_unfused_optimizer(longer.input()));
  MadeRun shorter = run_with_kernels(300, 19'900, 0.1);
  EXPECT_TRUE(find_unfused_optimizer(shorter.input()));
}

TEST(UnfusedOptimizer, a_note_when_it_costs_next_to_nothing) {
  MadeRun run = run_with_kernels(300, 1'400, 0.008);
  EXPECT_EQ(find_unfused_optimizer(run.input())->severity, Severity::kNote);
}

TEST(UnfusedOptimizer, other_kernels_are_not_the_optimizers) {
  MadeRun run = run_with_kernels(300, 1'400, 0.1, KernelClass::kElementwise);
  EXPECT_FALSE(find_unfused_optimizer(run.input()));
}

}  // namespace
}  // namespace stepscope

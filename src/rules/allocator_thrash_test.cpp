// allocator-thrash: calls in most steps, and a cost.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_calls(std::size_t steps_with, int calls_a_step, double saving) {
  MadeRun run;
  for (std::size_t step = 0; step < steps_with; ++step) {
    for (int k = 0; k < calls_a_step; ++k) {
      run.call(k % 2 == 0 ? ApiKind::kAllocate : ApiKind::kFree, k % 2 == 0 ? "cudaMalloc" : "cudaFree",
               run.facts.steps.steps[step].host.start_ns + (k + 1) * 10'000, 5'000);
    }
  }
  run.set_saving(Transform::kAllocatorFree, saving);
  return run;
}

TEST(AllocatorThrash, two_calls_in_most_steps_at_one_percent) {
  MadeRun run = run_with_calls(3, 2, 0.012);
  ASSERT_TRUE(find_allocator_thrash(run.input()));
  EXPECT_EQ(find_allocator_thrash(run.input())->severity, Severity::kFault);
}

TEST(AllocatorThrash, half_of_the_steps_is_not_most) {
  MadeRun run = run_with_calls(2, 2, 0.5);
  EXPECT_FALSE(find_allocator_thrash(run.input()));
}

TEST(AllocatorThrash, one_call_a_step_is_growth) {
  MadeRun run = run_with_calls(4, 1, 0.5);
  EXPECT_FALSE(find_allocator_thrash(run.input()));
}

TEST(AllocatorThrash, silent_when_it_costs_nothing) {
  MadeRun run = run_with_calls(4, 10, 0.008);
  EXPECT_FALSE(find_allocator_thrash(run.input()));
}

TEST(AllocatorThrash, pinned_host_memory_is_not_the_devices) {
  MadeRun run;
  for (int k = 0; k < 12; ++k) run.call(ApiKind::kAllocate, "cudaHostAlloc", k * 3 * MadeRun::kMs, 5'000);
  run.set_saving(Transform::kAllocatorFree, 0.5);
  EXPECT_FALSE(find_allocator_thrash(run.input()));
}

}  // namespace
}  // namespace stepscope

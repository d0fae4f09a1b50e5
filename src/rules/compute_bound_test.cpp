// compute-bound: the floor, what is no compute, and faults that contradict it.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_floor(double floor) {
  MadeRun run;
  run.set_saving(Transform::kHostZero, 1 - floor);
  run.gpu_event(KernelClass::kMatmul, "gemm", 1000, MadeRun::kMs);
  return run;
}

TEST(ComputeBound, from_eighty_percent_on) {
  MadeRun silent = run_with_floor(0.79);
  EXPECT_FALSE(find_compute_bound(silent.input()));
  MadeRun bound = run_with_floor(0.81);
  ASSERT_TRUE(find_compute_bound(bound.input()));
  EXPECT_EQ(find_compute_bound(bound.input())->severity, Severity::kInformation);
  EXPECT_FALSE(find_compute_bound(bound.input())->saving);
}

TEST(ComputeBound, communication_and_copies_alone_are_no_compute) {
  MadeRun run = run_with_floor(0.95);
  run.facts.busy.front().exposed_communication_ns = 4'100'000;
  EXPECT_FALSE(find_compute_bound(run.input()));
  run.facts.busy.front().exposed_communication_ns = 3'900'000;
  EXPECT_TRUE(find_compute_bound(run.input()));
  run.facts.busy.front().exposed_copy_ns = 8'100'000;
  EXPECT_FALSE(find_compute_bound(run.input()));
}

TEST(ComputeBound, a_fault_contradicts_it_but_slow_kernels_do_not) {
  MadeRun run = run_with_floor(0.95);
  Finding fault;
  fault.id = "unfused-optimizer";
  fault.severity = Severity::kFault;
  std::vector<Finding> found = {fault};
  EXPECT_FALSE(find_compute_bound(run.input(found)));
  found.front().severity = Severity::kNote;
  EXPECT_TRUE(find_compute_bound(run.input(found)));
  found.front().severity = Severity::kFault;
  found.front().id = "no-tensor-cores";
  EXPECT_TRUE(find_compute_bound(run.input(found)));
}

TEST(ComputeBound, not_where_most_of_the_window_is_no_ordinary_step) {
  MadeRun run = run_with_floor(0.95);
  run.facts.busy.front().gpu_busy_ns = run.facts.steps.window.length_ns() * 51 / 100;
  EXPECT_TRUE(find_compute_bound(run.input()));
  run.facts.busy.front().gpu_busy_ns = run.facts.steps.window.length_ns() * 49 / 100;
  EXPECT_FALSE(find_compute_bound(run.input()));
}

TEST(ComputeBound, recomputed_work_is_told) {
  MadeRun run = run_with_floor(0.95);
  run.facts.flops.total = 100;
  run.facts.flops.recomputed = 1.9;
  EXPECT_EQ(find_compute_bound(run.input())->evidence.size(), 1U);
  run.facts.flops.recomputed = 19;
  const auto finding = find_compute_bound(run.input());
  ASSERT_EQ(finding->evidence.size(), 2U);
  EXPECT_TRUE(finding->evidence[1].text.starts_with("19 % of the FLOPs are recomputed in the backward pass"));
}

TEST(ComputeBound, mfu_stands_beside_its_range) {
  MadeRun run = run_with_floor(0.95);
  run.facts.efficiency.mfu_ratio = 0.301;
  run.facts.efficiency.peak_dtype = "bf16";
  EXPECT_EQ(find_compute_bound(run.input())->evidence[1].text,
            "MFU 30 % of the peak for bf16; well-tuned runs of large dense models reach 40 to 60 %.");
}

}  // namespace
}  // namespace stepscope

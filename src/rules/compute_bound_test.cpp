// compute-bound: the floor, what is no compute, and faults that contradict it.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "rules/rules.h"
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

TEST(ComputeBound, an_idle_gpu_is_not_bound_whatever_it_waits_for) {
  for (const auto& [percent, bound] : {std::pair{79, false}, std::pair{81, true}}) {
    MadeRun run = run_with_floor(0.99);  // the wait is no host work: another GPU, an event, a read at the step's end
    for (DurationNs& busy : run.facts.busy.front().busy_by_step_ns) busy = busy * percent / 100;
    EXPECT_EQ(find_compute_bound(run.input()).has_value(), bound) << percent;
  }
}

TEST(ComputeBound, copies_within_the_device_are_its_own_work) {
  MadeRun run = run_with_floor(0.95);
  DeviceBusy& busy = run.facts.busy.front();
  busy.exposed_copy_ns = busy.window_ns / 2;
  EXPECT_FALSE(find_compute_bound(run.input()));
  run.gpu_event(KernelClass::kCopy, "Memcpy DtoD (Device -> Device)", 2 * MadeRun::kMs, busy.window_ns / 2,
                GpuEventKind::kCopy);
  const auto finding = find_compute_bound(run.input());
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->advice[0].starts_with("Copies within the device"));
  EXPECT_NE(write_verdict(run.input(), {*finding}).find("fewer copies within the device"), std::string::npos);
}

TEST(ComputeBound, the_advice_is_that_of_the_kernels_which_cost) {
  const auto advice_for = [](KernelClass kind, DurationNs tensor_core_ns = 0) {
    MadeRun run = run_with_floor(0.95);
    DeviceBusy& busy = run.facts.busy.front();
    busy.busy_by_kind_ns[static_cast<std::size_t>(kind)] = busy.gpu_busy_ns;
    busy.tensor_core_ns = tensor_core_ns;
    return find_compute_bound(run.input())->advice[0];
  };
  EXPECT_TRUE(advice_for(KernelClass::kElementwise).starts_with("torch.compile(model)"));
  EXPECT_TRUE(advice_for(KernelClass::kNormalisation).starts_with("torch.compile(model)"));
  EXPECT_NE(advice_for(KernelClass::kMatmul).find("puts them on tensor cores"), std::string::npos);
  EXPECT_NE(advice_for(KernelClass::kMatmul, 40 * MadeRun::kMs).find("they use tensor cores"), std::string::npos);
  EXPECT_TRUE(advice_for(KernelClass::kConvolution).starts_with("Convolutions: "));
  EXPECT_TRUE(advice_for(KernelClass::kAttention).starts_with("Attention: "));
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

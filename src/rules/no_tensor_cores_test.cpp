// no-tensor-cores: share of GPU time, and sizes that are no multiples of 8.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

MadeRun run_with_simt(double share, double saving) {
  MadeRun run;
  DeviceBusy& busy = run.facts.busy.front();
  busy.simt_matmul_ns = static_cast<DurationNs>(share * static_cast<double>(busy.gpu_sum_ns));
  run.gpu_event(KernelClass::kMatmul, "ampere_sgemm_128x64_tn", 1000, 3 * MadeRun::kMs);
  run.set_saving(Transform::kTensorCores, saving);
  run.facts.classes.tensor_cores.resize(run.trace.strings.size(), TensorCores::kUnknown);
  run.facts.classes.tensor_cores[run.text("ampere_sgemm_128x64_tn").value] = TensorCores::kNotUsed;
  return run;
}

TEST(NoTensorCores, from_a_tenth_of_the_gpu_time_on) {
  MadeRun little = run_with_simt(0.09, 0.5);
  EXPECT_FALSE(find_no_tensor_cores(little.input()));
  MadeRun much = run_with_simt(0.11, 0.5);
  const auto finding = find_no_tensor_cores(much.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->severity, Severity::kFault);
  EXPECT_EQ(finding->evidence[0].text, "ampere_sgemm_128x64_tn: 0.75 ms a step.");
}

TEST(NoTensorCores, a_note_where_faster_kernels_bring_nothing) {
  MadeRun cheap = run_with_simt(0.8, 0.045);
  EXPECT_EQ(find_no_tensor_cores(cheap.input())->severity, Severity::kNote);
  MadeRun dear = run_with_simt(0.8, 0.055);
  EXPECT_EQ(find_no_tensor_cores(dear.input())->severity, Severity::kFault);
}

TEST(NoTensorCores, names_sizes_that_are_no_multiples_of_eight) {
  MadeRun run = run_with_simt(0.8, 0.5);
  Ops::Row op;
  op.thread = ThreadId(0);
  op.name = run.text("aten::mm");
  op.shapes = run.text("[[16384,1020],[1020,16001]]");
  run.trace.gpu_events.op[GpuEventId(0)] = run.trace.ops.push_back(op);
  const auto finding = find_no_tensor_cores(run.input());
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->evidence[1].text,
            "aten::mm of 16384x1020 by 1020x16001: 1020 is no multiple of 8; 0.75 ms a step.");
  EXPECT_EQ(finding->advice.back(),
            "Pad sizes to multiples of 8, better 64: 1020 -> 1024 (vocabulary, hidden width, batch)");
}

}  // namespace
}  // namespace stepscope

// odd-matmul-sizes: kernels that load narrowly, how much of the GPU time, and what padding would bring.
#include <gtest/gtest.h>

#include "rules/rule_list.h"
#include "support/made_run.h"

namespace stepscope {
namespace {

constexpr std::string_view kNarrow = "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align2";

MadeRun run_with(std::string_view kernel, DurationNs length_ns) {
  MadeRun run;  // 40 ms of GPU time
  run.gpu_event(KernelClass::kMatmul, kernel, 1000, length_ns);
  return run;
}

TEST(OddMatmulSizes, from_a_tenth_of_the_gpu_time_on) {
  MadeRun silent = run_with(kNarrow, 3'900'000);
  EXPECT_FALSE(find_odd_matmul_sizes(silent.input()));
  MadeRun note = run_with(kNarrow, 4'100'000);
  ASSERT_TRUE(find_odd_matmul_sizes(note.input()));
  EXPECT_EQ(find_odd_matmul_sizes(note.input())->severity, Severity::kNote);  // it saves nothing
}

TEST(OddMatmulSizes, a_fault_when_even_the_low_end_is_five_percent) {
  MadeRun note = run_with(kNarrow, 20 * MadeRun::kMs);
  note.set_unprofiled({10 * MadeRun::kMs, 10 * MadeRun::kMs, 10 * MadeRun::kMs});
  note.set_saving(Transform::kMatmulsAligned, 0.049);
  EXPECT_EQ(find_odd_matmul_sizes(note.input())->severity, Severity::kNote);
  note.set_saving(Transform::kMatmulsAligned, 0.051);
  EXPECT_EQ(find_odd_matmul_sizes(note.input())->severity, Severity::kFault);
}

TEST(OddMatmulSizes, kernels_that_load_widely_are_none) {
  for (const char* name : {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "ampere_bf16_s16816gemm_bf16_128x64_ldg8",
                           "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align8",
                           "cutlass_80_tensorop_s1688gemm_tf32_align4"}) {
    MadeRun run = run_with(name, 30 * MadeRun::kMs);
    EXPECT_FALSE(find_odd_matmul_sizes(run.input())) << name;
  }
}

}  // namespace
}  // namespace stepscope

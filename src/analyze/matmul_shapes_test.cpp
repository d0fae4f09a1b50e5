// Sizes from torch's text, and which of them are odd.
#include "analyze/matmul_shapes.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

using Sizes = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(MatmulShapes, sizes_are_the_last_two_dimensions_of_each_matrix) {
  EXPECT_EQ(matrix_sizes("[[64, 32], [32, 16]]"), (Sizes{{64, 32}, {32, 16}}));
  EXPECT_EQ(matrix_sizes("[[16], [64, 32], [32, 16], [], []]"), (Sizes{{64, 32}, {32, 16}}));
  EXPECT_EQ(matrix_sizes("[[8,64,32],[8,32,16]]"), (Sizes{{64, 32}, {32, 16}}));
  EXPECT_EQ(matrix_sizes(""), Sizes{});
  EXPECT_EQ(matrix_sizes("]]]["), Sizes{});
  EXPECT_EQ(matrix_sizes("[[99999999999999999999999, 2"), Sizes{});
}

TEST(MatmulShapes, kernels_tell_how_many_elements_they_load) {
  EXPECT_EQ(narrow_load_elements("cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1>(cutlass_7"), 1);
  EXPECT_EQ(narrow_load_elements("cutlass_80_tensorop_f16_s16816gemm_f16_256x128_64x3_nn_align2"), 2);
  EXPECT_EQ(narrow_load_elements("cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align8"), 0);
  EXPECT_EQ(narrow_load_elements("cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_nn_align16"), 0);
  EXPECT_EQ(narrow_load_elements("cutlass_80_tensorop_s1688gemm_tf32_align4"), 0);  // 4 elements of 4 bytes
  EXPECT_EQ(narrow_load_elements("bf16_align"), 0);
}

TEST(MatmulShapes, odd_sizes_with_their_operator_and_time) {
  const Trace trace = trace_from_text(R"(
    step      [4                           ]
    op         [mm  ]    [add ]
    call        [L1]      [L2]
    gpu/7         [K1=]      [K2======]
    where
      mm = aten::mm ext 1 shapes [[64,32],[32,16]]
      add = aten::addmm ext 2 shapes [[17],[64,30],[30,17]]
      L1 = cudaLaunchKernel corr 1 ext 1
      L2 = cudaLaunchKernel corr 2 ext 2
      K1 = ampere_gemm corr 1 ext 1
      K2 = ampere_gemm corr 2 ext 2
  )");
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  const KernelClasses classes = compute_kernel_classes(trace);
  const Steps steps = compute_steps(trace, timeline, compute_launches(trace, timeline), {});
  const MatmulShapes shapes = compute_matmul_shapes(trace, timeline, classes, steps, DeviceId(0));
  EXPECT_TRUE(shapes.shapes_recorded);
  EXPECT_EQ(shapes.matmul_ns, 150'000);
  EXPECT_EQ(shapes.odd_ns, 100'000);
  ASSERT_EQ(shapes.odd.size(), 1U);
  EXPECT_EQ(trace.text(shapes.odd[0].operator_name), "aten::addmm");
  EXPECT_EQ(shapes.odd[0].sizes, "64x30 by 30x17");
  EXPECT_EQ(shapes.odd[0].odd_size, 30);
}

}  // namespace
}  // namespace stepscope

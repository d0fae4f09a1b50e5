// What counts, once each, and what is made of it.
#include "analyze/flops.h"

#include <gtest/gtest.h>

#include "analyze/averages.h"
#include "analyze/efficiency_facts.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

constexpr double kMm = 2.0 * 64 * 64 * 64;
constexpr double kAttention = 4.0 * 2 * 8 * 128 * 128 * 64;

Steps steps_of(const Trace& trace) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  return compute_steps(trace, timeline, compute_launches(trace, timeline), {});
}

Flops flops_of(const Trace& trace) { return compute_flops(trace, steps_of(trace)); }

TEST(Flops, NestedAttentionCountsOnceAndCausalIsSaid) {
  const Flops flops = flops_of(trace_from_text(R"(
    op        [sdpa====]  [causal==]
    op         [flash=]    [flash=]
    op          [fwd]       [fwd]
    where
      sdpa = aten::scaled_dot_product_attention shapes [[2,8,128,64],[2,8,128,64],[2,8,128,64]] concrete ["","","","","0.","False",""]
      causal = aten::scaled_dot_product_attention shapes [[2,8,128,64],[2,8,128,64],[2,8,128,64]] concrete ["","","","","0.","True",""]
      flash = aten::_scaled_dot_product_flash_attention shapes [[2,8,128,64],[2,8,128,64],[2,8,128,64]]
      fwd = aten::_flash_attention_forward shapes [[2,8,128,64],[2,8,128,64],[2,8,128,64]]
  )"));
  EXPECT_EQ(flops.total, 2 * kAttention);
  EXPECT_EQ(flops.total_causal_halved, 1.5 * kAttention);
  EXPECT_EQ(flops.attention_forward, 2 * kAttention);
  EXPECT_EQ(flops.causal_attention_count, 1);
  ASSERT_EQ(flops.by_operator.size(), 1U);
  EXPECT_EQ(flops.by_operator[0].call_count, 2);
}

TEST(Flops, ACompositeCountsOnlyWhereNothingInsideItDid) {
  const Flops flops = flops_of(trace_from_text(R"(
    op        [linear==] [alone===] [mm======]
    op         [addmm=]   [fused=]   [mode=]
    op                                [mm_in]
    where
      linear = aten::linear shapes [[64,64],[64,64],[64]]
      addmm = aten::addmm shapes [[64],[64,64],[64,64],[],[]]
      alone = aten::linear shapes [[64,64],[64,64],[64]]
      fused = custom::fused
      mm = aten::mm shapes [[64,64],[64,64]]
      mm_in = aten::mm shapes [[64,64],[64,64]]
  )"));
  EXPECT_EQ(flops.total, 3 * kMm);
  ASSERT_EQ(flops.by_operator.size(), 3U);
}

TEST(Flops, WhatTheProgramToldGoesBeforeAFormulaAndCoversWhatIsNested) {
  Trace trace = trace_from_text(R"(
    op        [told===]  [norm]  [mm==]  [mm_told]
    op         [mm_in]
    where
      told = my::attention
      mm_in = aten::mm shapes [[64,64],[64,64]]
      norm = my::norm
      mm = aten::mm shapes [[64,64],[64,64]]
      mm_told = aten::mm shapes [[1,64],[64,64]]
  )");
  for (const OpId op : trace.ops.ids().ids()) {
    if (trace.text(trace.ops.name[op]) == "my::attention") trace.ops.flops[op] = 1000;
    if (trace.text(trace.ops.shapes[op]) == "[[1,64],[64,64]]") trace.ops.flops[op] = 7;
  }
  const Flops flops = flops_of(trace);
  EXPECT_EQ(flops.total, 1000 + kMm + 7);
  ASSERT_EQ(flops.by_operator.size(), 2U);
  EXPECT_EQ(flops.by_operator[0].name, "aten::mm");
  const Averages averages = compute_averages(trace, {});
  std::int64_t of_table = 0;
  for (const AverageRow& row : averages.rows) of_table += row.flops;
  EXPECT_EQ(of_table, 1000 + static_cast<std::int64_t>(kMm) + 7);
}

TEST(Flops, ToldOnesNeedNoShapes) {
  Trace trace = trace_from_text(R"(
    op        [a=]  [b=]
    where
      a = my::a
      b = my::b
  )");
  EXPECT_FALSE(flops_of(trace).shapes_recorded);
  trace.ops.flops[OpId(0)] = 5;
  EXPECT_EQ(flops_of(trace).total, 5);
}

TEST(Flops, RecomputedWorkIsNotTheModels) {
  const Flops flops = flops_of(trace_from_text(R"(
    op        [mm]
    op@bwd          [grad============]
    op@bwd           [again]  [dmm]
    where
      mm = aten::mm seq 3 shapes [[64,64],[64,64]]
      grad = autograd::engine::evaluate_function: MmBackward0 seq 3 fwd 1
      again = aten::mm seq 9 shapes [[64,64],[64,64]]
      dmm = aten::mm shapes [[64,64],[64,64]]
  )"));
  EXPECT_EQ(flops.total, 3 * kMm);
  EXPECT_EQ(flops.model, 2 * kMm);
  EXPECT_EQ(flops.recomputed, kMm);
}

TEST(Flops, OnlyTheStepsCount) {
  const Flops flops = flops_of(trace_from_text(R"(
    step           [1    ][2    ]
    op        [mm]  [mm]   [mm]   [mm]
    gpu/7            [K]     [K]
    where
      mm = aten::mm shapes [[64,64],[64,64]]
  )"));
  EXPECT_EQ(flops.by_step, (std::vector<double>{kMm, kMm}));
  EXPECT_EQ(flops.total, 2 * kMm);
}

TEST(Flops, DtypeIsThatOfTheInnermostProduct) {
  // Autocast: the outer call still has fp32 operands.
  const Flops flops = flops_of(trace_from_text(R"(
    op        [conv=======]
    op         [conv_in=]
    where
      conv = aten::conv2d shapes [[1,3,8,8],[4,3,3,3],[]] types ["float","float",""]
      conv_in = aten::conv2d shapes [[1,3,8,8],[4,3,3,3],[]] types ["c10::BFloat16","c10::BFloat16",""]
  )"));
  EXPECT_EQ(flops.dominant_dtype, "bf16");
  EXPECT_EQ(flops.by_operator.size(), 1U);
}

TEST(Flops, Tf32ShowsInTheKernelsName) {
  const auto dtype_with_kernel = [](const std::string& kernel) {
    return flops_of(trace_from_text(R"(
    op        [mm]
    gpu/7      [K==]
    where
      mm = aten::mm ext 1 shapes [[64,64],[64,64]] types ["float","float"]
      K = )" + kernel + " ext 1\n"))
        .dominant_dtype;
  };
  EXPECT_EQ(dtype_with_kernel("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_tensor16x8x8"), "tf32");
  EXPECT_EQ(dtype_with_kernel("cutlass_80_simt_sgemm_128x64_8x5_nn_align1"), "fp32");
}

TEST(Flops, MatmulsWithoutAFormulaAreNamed) {
  const Flops flops = flops_of(trace_from_text(R"(
    op        [mm][grouped][relu]
    gpu/7         [K1=]    [K2==]
    where
      mm = aten::mm shapes [[64,64],[64,64]]
      grouped = aten::_grouped_mm ext 1
      relu = aten::relu ext 2
      K1 = k1 ext 1
      K2 = k2 ext 2
  )"));
  EXPECT_EQ(flops.unknown_operators, (std::vector<std::string>{"aten::_grouped_mm"}));
}

// Two steps of one mm each on a device of a given name.
Trace two_steps() {
  return trace_from_text(R"(
    step      [1    ][2    ]
    op         [mm]   [mm]
    gpu/7       [K]    [K]
    where
      mm = aten::mm ext 1 shapes [[64,64],[64,64]] types ["c10::BFloat16","c10::BFloat16"]
      K = k ext 1
  )");
}

Efficiency efficiency_of(const Trace& trace, std::optional<double> peak) {
  const Steps steps = steps_of(trace);
  return compute_efficiency(trace, steps, compute_flops(trace, steps), peak);
}

TEST(EfficiencyFacts, AGivenPeakServesAnyDevice) {
  const Trace trace = two_steps();
  const Efficiency found = efficiency_of(trace, 1e12);
  const double window_s = static_cast<double>(steps_of(trace).window.length_ns()) * 1e-9;
  EXPECT_EQ(found.flops_per_step, kMm);
  ASSERT_TRUE(found.mfu_ratio.has_value());
  EXPECT_DOUBLE_EQ(*found.mfu_ratio, 2 * kMm / window_s / 1e12);
  EXPECT_EQ(found.peak_dtype, "bf16");
  EXPECT_TRUE(found.not_available.empty());
}

TEST(EfficiencyFacts, EveryReasonSaysWhatToDo) {
  Trace trace = two_steps();
  EXPECT_NE(efficiency_of(trace, {}).not_available.find("--peak-flops"), std::string::npos);
  trace.devices.name.raw().assign(1, trace.strings.intern("Madeup Accelerator 9000"));
  const Efficiency unknown = efficiency_of(trace, {});
  EXPECT_FALSE(unknown.mfu_ratio.has_value());
  EXPECT_TRUE(unknown.achieved_flops_per_s.has_value());
  EXPECT_EQ(unknown.not_available, "no bf16 peak is known for \"Madeup Accelerator 9000\": give it with --peak-flops");
  trace.ops.shapes.raw().assign(trace.ops.size(), StringId());
  EXPECT_NE(efficiency_of(trace, {}).not_available.find("record_shapes=True"), std::string::npos);
}

TEST(EfficiencyFacts, MoreThanThePeakIsADataError) {
  const Efficiency found = efficiency_of(two_steps(), 1e3);
  EXPECT_FALSE(found.mfu_ratio.has_value());
  EXPECT_NE(found.not_available.find("data error"), std::string::npos);
}

}  // namespace
}  // namespace stepscope

// FLOPs and MFU of recorded runs, against numbers worked out from the model by hand.
#include <gtest/gtest.h>

#include "analyze/efficiency_facts.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

constexpr double kTera = 1e12;

struct Found {
  Steps steps;
  Flops flops;
  Efficiency efficiency;
};

Found find(const Trace& trace) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  Found out;
  out.steps = compute_steps(trace, timeline, compute_launches(trace, timeline), {});
  out.flops = compute_flops(trace, out.steps);
  out.efficiency = compute_efficiency(trace, out.steps, out.flops, {});
  return out;
}

double tera_a_step(const Found& found, std::string_view name) {
  for (const OperatorFlops& row : found.flops.by_operator) {
    if (row.name == name) return row.flops / static_cast<double>(found.steps.steps.size()) / kTera;
  }
  return 0;
}

TEST(RecordedEfficiency, OperatorsOfTheGptStep) {
  const Found found = find(recorded_trace("h200/solid"));
  EXPECT_NEAR(tera_a_step(found, "aten::mm"), 7.982, 0.0005);
  EXPECT_NEAR(tera_a_step(found, "aten::addmm"), 2.783, 0.0005);
  EXPECT_NEAR(tera_a_step(found, "aten::scaled_dot_product_attention"), 0.618, 0.0005);
  EXPECT_NEAR(tera_a_step(found, "aten::_scaled_dot_product_cudnn_attention_backward"), 0.618475 * 2.5, 0.001);
  EXPECT_EQ(found.flops.by_operator.size(), 4U);
  EXPECT_EQ(found.flops.dominant_dtype, "bf16");
  EXPECT_EQ(found.flops.causal_attention_count, 3 * 2 * 12);
  EXPECT_EQ(found.flops.recomputed, 0);
  EXPECT_TRUE(found.flops.unknown_operators.empty());

  ASSERT_TRUE(found.efficiency.flops_per_step.has_value());
  const double unprofiled_step_s = 0.0435;
  EXPECT_NEAR(*found.efficiency.flops_per_step / unprofiled_step_s / 989e12, 0.301, 0.0006);
  const double halved = found.flops.total_causal_halved / static_cast<double>(found.steps.steps.size());
  EXPECT_NEAR(halved / unprofiled_step_s / 989e12, 0.275, 0.0006);

  EXPECT_EQ(found.efficiency.device_name, "NVIDIA H200");
  EXPECT_EQ(found.efficiency.peak_flops_per_s, 989e12);
  ASSERT_TRUE(found.efficiency.mfu_ratio.has_value());
  EXPECT_EQ(found.efficiency.mfu_ratio, found.efficiency.hfu_ratio);
}

TEST(RecordedEfficiency, Fp32IsMeasuredAgainstItsOwnPeak) {
  const Found found = find(recorded_trace("h200/fp32"));
  EXPECT_EQ(found.flops.dominant_dtype, "fp32");
  EXPECT_EQ(found.efficiency.peak_flops_per_s, 67e12);
  ASSERT_TRUE(found.efficiency.mfu_ratio.has_value());
  EXPECT_NEAR(*found.efficiency.mfu_ratio, 0.68, 0.01);
}

TEST(RecordedEfficiency, RecomputedLayersCountForTheHardwareOnly) {
  // Three layers, all recomputed in backward, two by hooks and one by the reentrant way; `scaler` is the same model
  // without, so the model's FLOPs must be the same number.
  const Found found = find(recorded_trace("planted/recompute"));
  const Found plain = find(recorded_trace("planted/scaler"));
  EXPECT_EQ(found.flops.model, plain.flops.model);
  EXPECT_NEAR(found.flops.recomputed / 3 / kTera, 1.443, 0.001);  // addmm 1.237, attention 0.206
  EXPECT_EQ(found.flops.total, found.flops.model + found.flops.recomputed);
  ASSERT_TRUE(found.efficiency.hfu_ratio.has_value());
  EXPECT_GT(*found.efficiency.hfu_ratio, *found.efficiency.mfu_ratio);
}

TEST(RecordedEfficiency, WithoutShapesItSaysHowToRecordThem) {
  const Found found = find(recorded_trace("h200/ddp_rank0"));
  EXPECT_FALSE(found.flops.shapes_recorded);
  EXPECT_NE(found.efficiency.not_available.find("record_shapes=True"), std::string::npos);
}

TEST(RecordedEfficiency, AReplayedGraphHasNoOperators) {
  const Found found = find(recorded_trace("h200/graph"));
  EXPECT_FALSE(found.efficiency.mfu_ratio.has_value());
  EXPECT_NE(found.efficiency.not_available.find("CUDA graph"), std::string::npos);
}

TEST(Cases, B07AnUnknownDeviceHasNoPeak) {
  const Found found = find(recorded_trace("cases/B07_unknown_gpu.json"));
  EXPECT_EQ(found.flops.total, 1'572'864);
  EXPECT_FALSE(found.efficiency.mfu_ratio.has_value());
  EXPECT_FALSE(found.efficiency.peak_flops_per_s.has_value());
  EXPECT_NE(found.efficiency.not_available.find("Madeup Accelerator 9000"), std::string::npos);
  EXPECT_NE(found.efficiency.not_available.find("--peak-flops"), std::string::npos);
}

TEST(Cases, B09NestedAttentionCountsOnce) {
  const Found found = find(recorded_trace("cases/B09_nested_sdpa.json"));
  EXPECT_EQ(found.flops.total, 134'217'728);
  EXPECT_EQ(found.flops.total_causal_halved, 67'108'864 + 33'554'432);
  EXPECT_EQ(found.flops.causal_attention_count, 1);
}

TEST(Cases, B11OperatorInsideItselfCountsOnce) {
  EXPECT_EQ(find(recorded_trace("cases/B11_same_op_reentered.json")).flops.total, 524'288);
}

}  // namespace
}  // namespace stepscope

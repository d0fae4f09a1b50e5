// Every formula against a number worked out by hand.
#include "efficiency/operator_flops.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

double flops(std::string_view name, std::string_view dims, std::string_view concrete = "") {
  const auto cost = compute_operator_cost(name, dims, concrete);
  return cost ? cost->flops : -1;
}

TEST(OperatorFlops, MatrixProducts) {
  EXPECT_EQ(flops("aten::mm", "[[64, 32], [32, 16]]"), 2.0 * 64 * 32 * 16);
  EXPECT_EQ(flops("aten::addmm", "[[16], [64, 32], [32, 16], [], []]"), 2.0 * 64 * 32 * 16);
  EXPECT_EQ(flops("aten::bmm", "[[5, 64, 32], [5, 32, 16]]"), 5 * 2.0 * 64 * 32 * 16);
  EXPECT_EQ(flops("aten::baddbmm", "[[5, 64, 16], [5, 64, 32], [5, 32, 16]]"), 5 * 2.0 * 64 * 32 * 16);
  EXPECT_EQ(flops("aten::linear", "[[16, 1024, 768], [2304, 768], [2304]]"), 2.0 * 16 * 1024 * 768 * 2304);
  EXPECT_EQ(flops("aten::matmul", "[[16, 1024, 768], [768, 32000]]"), 2.0 * 16 * 1024 * 768 * 32000);
  EXPECT_EQ(flops("aten::matmul", "[[7], [7]]"), 14);
  EXPECT_EQ(flops("aten::matmul", "[[4, 1, 2, 3], [5, 3, 6]]"), 4 * 5 * 2.0 * 2 * 3 * 6);
  EXPECT_EQ(flops("aten::einsum", "[[], [[2, 8, 16, 4], [2, 8, 32, 4]], []]", R"(["bhqd,bhkd->bhqk", "", ""])"),
            2.0 * 2 * 8 * 16 * 32 * 4);
}

TEST(OperatorFlops, Convolutions) {
  // The grouped convolution of the recorded CNN: 64 -> 128 channels, 4 groups, stride 2.
  constexpr double kGrouped = 2.0 * 32 * 56 * 56 * 3 * 3 * 64 * 128 / 4;
  constexpr const char* kSettings = R"(["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "4"])";
  EXPECT_EQ(flops("aten::conv2d", "[[32, 64, 112, 112], [128, 16, 3, 3], [128], [], [], [], []]", kSettings), kGrouped);
  constexpr const char* kBackwardDims = "[[32, 128, 56, 56], [32, 64, 112, 112], [128, 16, 3, 3], []]";
  EXPECT_EQ(
      flops("aten::convolution_backward", kBackwardDims,
            R"(["", "", "", "[128]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "4", "[True, True, True]"])"),
      2 * kGrouped);
  EXPECT_EQ(
      flops("aten::convolution_backward", kBackwardDims,
            R"(["", "", "", "[128]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "4", "[False, True, True]"])"),
      kGrouped);
  EXPECT_EQ(flops("aten::conv1d", "[[4, 8, 100], [16, 8, 5], [16]]", R"(["", "", "", "[1]", "[2]", "[1]", "1"])"),
            2.0 * 4 * 100 * 16 * 8 * 5);
  EXPECT_EQ(flops("aten::conv3d", "[[1, 2, 8, 8, 8], [4, 2, 3, 3, 3], []]",
                  R"(["", "", "", "[1, 1, 1]", "[1, 1, 1]", "[1, 1, 1]", "1"])"),
            2.0 * 512 * 4 * 2 * 27);
  EXPECT_EQ(flops("aten::conv2d", "[[3, 8, 8], [4, 3, 3, 3], []]", R"(["", "", "", "[1, 1]", "same", "[1, 1]", "1"])"),
            2.0 * 64 * 4 * 3 * 9);
  EXPECT_EQ(flops("aten::conv_transpose2d", "[[2, 8, 10, 10], [8, 4, 3, 3], []]"), 2.0 * 2 * 100 * 8 * 4 * 9);
  EXPECT_EQ(flops("aten::conv2d", "[[1, 1, 2, 2], [1, 1, 5, 5]]"), -1);  // the kernel does not fit
  EXPECT_EQ(flops("aten::conv2d", "[[1, 1, 2, 2], [1, 1, 1, 1]]", R"(["", "", "", "[0, 0]"])"), -1);
}

TEST(OperatorFlops, Attention) {
  constexpr double kForward = 4.0 * 16 * 12 * 1024 * 1024 * 64;
  constexpr const char* kQkv = "[[16, 12, 1024, 64], [16, 12, 1024, 64], [16, 12, 1024, 64], []]";
  const auto causal = compute_operator_cost("aten::scaled_dot_product_attention", kQkv,
                                            R"(["", "", "", "", "0.", "True", "", "False"])");
  ASSERT_TRUE(causal.has_value());
  EXPECT_EQ(causal->flops, kForward);
  EXPECT_TRUE(causal->is_causal);
  EXPECT_TRUE(causal->is_attention);
  EXPECT_FALSE(causal->is_backward);
  EXPECT_FALSE(compute_operator_cost("aten::scaled_dot_product_attention", kQkv,
                                     R"(["", "", "", "", "0.", "False", "", "False"])")
                   ->is_causal);
  EXPECT_FALSE(compute_operator_cost("aten::scaled_dot_product_attention", kQkv, "[]")->is_causal);

  const auto backward = compute_operator_cost(
      "aten::_scaled_dot_product_cudnn_attention_backward",
      "[[16, 12, 1024, 64], [16, 12, 1024, 64], [16, 12, 1024, 64], [16, 12, 1024, 64], [16, 12, 1024, 64]]",
      R"(["", "", "", "", "", "", "", "", "", "", "", "1024", "1024", "0.", "True", ""])");
  ASSERT_TRUE(backward.has_value());
  EXPECT_EQ(backward->flops, 2.5 * kForward);
  EXPECT_TRUE(backward->is_causal);
  EXPECT_TRUE(backward->is_backward);

  // B,S,H,D; grouped queries; values of another depth.
  EXPECT_EQ(flops("aten::_efficient_attention_forward", "[[8, 128, 4, 64], [8, 128, 4, 64], [8, 128, 4, 64]]"),
            4.0 * 8 * 4 * 128 * 128 * 64);
  EXPECT_EQ(flops("aten::scaled_dot_product_attention", "[[2, 8, 10, 64], [2, 2, 30, 64], [2, 2, 30, 32]]"),
            2.0 * 2 * 8 * 10 * 30 * (64 + 32));
  EXPECT_EQ(flops("aten::_flash_attention_forward", "[[900, 4, 64], [900, 4, 64], [900, 4, 64]]"), -1);
}

TEST(OperatorFlops, ArgumentsThatDoNotFitAreNothing) {
  for (const char* dims : {"", "[]", "[[1]]", "[[2, 3], [4, 5]]", "[[2, 3], []]", "junk", "[[], []]"}) {
    EXPECT_EQ(flops("aten::mm", dims), -1) << dims;
    EXPECT_EQ(flops("aten::conv2d", dims), -1) << dims;
    EXPECT_EQ(flops("aten::scaled_dot_product_attention", dims), -1) << dims;
    EXPECT_EQ(flops("aten::einsum", dims, R"(["ij,jk->ik"])"), -1) << dims;
  }
  EXPECT_EQ(flops("aten::relu", "[[2, 3]]"), -1);
  EXPECT_EQ(flops("aten::einsum", "[[], [[2, 3], [3, 4]]]", R"(["...ij,jk->ik"])"), -1);
  EXPECT_EQ(flops("aten::einsum", "[[], [[2, 3], [3, 4]]]", R"(["ij,jk,kl->il"])"), -1);
}

TEST(OperatorFlops, TorchCountsItsSeven) {
  EXPECT_EQ(*compute_torch_flops("aten::add", "[[8, 128, 256], [8, 128, 256], []]", ""), 262144);
  EXPECT_EQ(*compute_torch_flops("aten::mul", "[[5, 1], [1, 7]]", ""), 35);
  EXPECT_EQ(*compute_torch_flops("aten::mul", "[[], []]", ""), 1);
  EXPECT_FALSE(compute_torch_flops("aten::add_", "[[8], [8], []]", ""));
  EXPECT_FALSE(compute_torch_flops("aten::linear", "[[2, 2], [2, 2]]", ""));
  EXPECT_FALSE(has_torch_flops("aten::scaled_dot_product_attention"));
  EXPECT_TRUE(has_torch_flops("aten::conv2d"));
}

TEST(OperatorFlops, Roles) {
  EXPECT_EQ(find_flops_role("aten::mm"), FlopsRole::kWhole);
  EXPECT_EQ(find_flops_role("aten::linear"), FlopsRole::kComposite);
  EXPECT_EQ(find_flops_role("aten::convolution_backward"), FlopsRole::kWhole);
  EXPECT_EQ(find_flops_role("aten::relu"), FlopsRole::kNone);
  EXPECT_TRUE(looks_like_matmul("aten::_grouped_mm"));
  EXPECT_TRUE(looks_like_matmul("aten::_cudnn_rnn"));
  EXPECT_FALSE(looks_like_matmul("aten::_convert_weight"));
  EXPECT_FALSE(looks_like_matmul("record_param_comms"));
}

TEST(SizeFlops, EveryFormulaByHand) {
  EXPECT_EQ(*matmul_flops(64, 32, 16), 2.0 * 64 * 32 * 16);
  EXPECT_EQ(*matmul_flops(64, 32, 16, 5), 5 * 2.0 * 64 * 32 * 16);
  EXPECT_EQ(*matmul_flops(0, 32, 16), 0);
  const ConvolutionSizes grouped{
      .batch = 32, .in_channels = 64, .out_channels = 128, .groups = 4, .kernel = {3, 3}, .output = {56, 56}};
  EXPECT_EQ(*convolution_flops(grouped), 2.0 * 32 * 56 * 56 * 3 * 3 * 64 * 128 / 4);
  const AttentionSizes square{.batch = 16, .heads = 12, .query_length = 1024, .key_length = 1024, .head_size = 64};
  EXPECT_EQ(*attention_flops(square), 4.0 * 16 * 12 * 1024 * 1024 * 64);
  EXPECT_EQ(*attention_backward_flops(square), 2.5 * *attention_flops(square));
  const AttentionSizes narrow_values{
      .batch = 2, .heads = 8, .query_length = 10, .key_length = 30, .head_size = 64, .value_size = 32};
  EXPECT_EQ(*attention_flops(narrow_values), 2.0 * 2 * 8 * 10 * 30 * (64 + 32));
}

TEST(SizeFlops, AgreeWithTheOperatorsOfATrace) {
  EXPECT_EQ(*matmul_flops(64, 32, 16), flops("aten::mm", "[[64, 32], [32, 16]]"));
  EXPECT_EQ(*convolution_flops({.batch = 4, .in_channels = 8, .out_channels = 16, .kernel = {5}, .output = {100}}),
            flops("aten::conv1d", "[[4, 8, 100], [16, 8, 5], [16]]", R"(["", "", "", "[1]", "[2]", "[1]", "1"])"));
  EXPECT_EQ(*attention_flops({2, 8, 10, 30, 64, 32}),
            flops("aten::scaled_dot_product_attention", "[[2, 8, 10, 64], [2, 2, 30, 64], [2, 2, 30, 32]]"));
}

TEST(SizeFlops, WrongSizesAreErrorsThatNameThem) {
  EXPECT_TRUE(matmul_flops(1, -2, 3).error().message.starts_with("k "));
  EXPECT_TRUE(convolution_flops({.kernel = {3, 3}, .output = {1}}).error().message.starts_with("output"));
  EXPECT_TRUE(convolution_flops({.kernel = {}, .output = {}}).error().message.starts_with("kernel"));
  EXPECT_TRUE(convolution_flops({.groups = 0, .kernel = {3}, .output = {1}}).error().message.starts_with("groups"));
  EXPECT_TRUE(convolution_flops({.in_channels = 3, .groups = 2, .kernel = {3}, .output = {1}})
                  .error()
                  .message.starts_with("in_channels"));
  EXPECT_TRUE(convolution_flops({.kernel = {-3}, .output = {1}}).error().message.starts_with("kernel"));
  EXPECT_TRUE(attention_flops({.head_size = -1}).error().message.starts_with("head_size"));
  EXPECT_TRUE(attention_backward_flops({.value_size = -2}).error().message.starts_with("value_size"));
}

}  // namespace
}  // namespace stepscope

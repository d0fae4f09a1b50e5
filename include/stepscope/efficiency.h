// How much of what the GPUs could compute a training step computes: FLOPs, MFU, HFU, peaks of devices, operator
// formulas.
//
//     // 7 billion parameters on 64 H200; 2 million tokens in a step of 9 s.
//     const auto ratio = stepscope::mfu(7e9, 0, 0, 0, 2e6, 9.0, 64, 989e12);
//     if (!ratio) { std::cerr << ratio.error().message << '\n'; return 1; }
//     std::printf("MFU %.2f%%\n", *ratio * 100);  // MFU 14.75%
//
// Definitions (PaLM: Scaling Language Modeling with Pathways, appendix B):
//   FLOPs of one token   6 * params + 12 * layers * d_model * context, forward and backward
//   MFU                  tokens_per_step / step_s * that / (gpus * peak_flops)
//   HFU                  the same, with the work counted too that is done again to save memory; so HFU >= MFU
// The first term counts every parameter, those of embedding tables too, although a lookup multiplies nothing; the
// second is attention's two products, in full: causal masks are not halved. Whoever compares MFUs has to compare these
// choices.
//
// All quantities are in SI units without prefix (989e12, not 989): FLOP, FLOP/s, seconds. Errors are kInvalidArgument
// and name the argument. A result of 100% or more is an error as well, since no machine reaches it: some argument is
// wrong. Every function may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/result.h"

namespace stepscope {

// A transformer, as far as the formula looks at it. layers, d_model and context are given together, or are all 0, which
// leaves attention out.
struct ModelShape {
  double params = 0;   // N: all parameters
  double layers = 0;   // transformer blocks
  double d_model = 0;  // width of the hidden state: heads * size of a head
  double context = 0;  // tokens of a sequence
};

// What training on one token costs.
struct TokenFlops {
  double parameters = 0;  // 6 N: two operations for each weight forward, four backward
  double attention = 0;   // 12 layers d_model context; 0 when attention is left out
  [[nodiscard]] double total() const { return parameters + attention; }
  // The forward third, which full activation recomputation does once more: what HFU adds.
  [[nodiscard]] double forward() const { return total() / 3; }
};

// Errors: params <= 0; layers, d_model or context negative or given only in part; NaN, infinity.
[[nodiscard]] Result<TokenFlops> flops_per_token(const ModelShape& model);

// MFU, from 0 to 1. `tokens_per_step` are those of all `gpus` together; `peak_flops` is the FLOP/s of one GPU, dense,
// for the data type of the matrix products (find_device_peak). Errors: as above; tokens_per_step, step_s, gpus or
// peak_flops <= 0 or not finite; 100% or more.
[[nodiscard]] Result<double> mfu(double params, double layers, double d_model, double context, double tokens_per_step,
                                 double step_s, double gpus, double peak_flops);

// HFU: mfu plus `recomputed_flops`, the FLOPs that all GPUs together do again in a step. With full activation
// recomputation these are tokens_per_step * flops_per_token(model)->forward(). Errors: as mfu; recomputed_flops < 0.
[[nodiscard]] Result<double> hfu(double params, double layers, double d_model, double context, double tokens_per_step,
                                 double step_s, double gpus, double peak_flops, double recomputed_flops);

// The quotient behind both, for FLOPs counted in another way (of operators, of a model that is no transformer):
// flops_per_step / (step_s * gpus * peak_flops). Errors: an argument <= 0 or not finite; 100% or more.
[[nodiscard]] Result<double> flops_utilization(double flops_per_step, double step_s, double gpus, double peak_flops);

// What a device can do with one data type, by its maker's own sheet.
struct DevicePeak {
  std::string_view device_name;   // as the driver reports it: "NVIDIA H200", "NVIDIA H100 80GB HBM3"
  std::string_view dtype;         // "bf16", "fp16", "tf32", "fp32", "fp64", "fp8", "int8"
  double flops_per_s = 0;         // dense (without structured sparsity); of matrix products
  double memory_bytes_per_s = 0;  // of the device, the same in all its rows
  std::string_view source;        // the sheet and its date
};

// All rows, by device. A row exists only where a sheet states the figure; where it prints the figure with sparsity, it
// is halved here.
[[nodiscard]] std::span<const DevicePeak> device_peaks();

// By exact name, because boards of one chip differ (H100 SXM, PCIe and NVL): missing for a device or data type that is
// not in the table. Never a guess.
[[nodiscard]] std::optional<DevicePeak> find_device_peak(std::string_view device_name, std::string_view dtype);

// Names of the table that somebody who typed `text` may have meant, nearest first, at most `most`: "h100" gives the
// three H100 boards. Empty when none is near.
[[nodiscard]] std::vector<std::string_view> find_similar_devices(std::string_view text, std::size_t most = 5);

// FLOPs of one operator, from its sizes. A multiply-add counts two. Sizes of 0 give 0; negative ones are errors.

// [batch, m, k] x [batch, k, n]: 2 batch m k n.
[[nodiscard]] Result<double> matmul_flops(std::int64_t m, std::int64_t k, std::int64_t n, std::int64_t batch = 1);

struct ConvolutionSizes {
  std::int64_t batch = 1;
  std::int64_t in_channels = 1;
  std::int64_t out_channels = 1;
  std::int64_t groups = 1;
  std::vector<std::int64_t> kernel;  // one for each dimension: {3, 3}
  std::vector<std::int64_t> output;  // sizes of the result: {112, 112}
};
// Forward, of 1, 2 or 3 dimensions: 2 batch output kernel in_channels out_channels / groups. Each gradient (of the
// input, of the weight) costs the same again. Errors also: groups that do not divide the channels; kernel and output of
// different length.
[[nodiscard]] Result<double> convolution_flops(const ConvolutionSizes& sizes);

struct AttentionSizes {
  std::int64_t batch = 1;
  std::int64_t heads = 1;         // of the query; keys may have fewer
  std::int64_t query_length = 0;  // tokens
  std::int64_t key_length = 0;    // tokens; of values too
  std::int64_t head_size = 0;     // of queries and keys
  std::int64_t value_size = -1;   // of values; -1: as head_size
};
// Scaled dot-product attention in full: 2 batch heads query_length key_length (head_size + value_size). The backward
// pass is 2.5 times that: five products for two, one of them the scores again (FlashAttention-2, section 3.1).
[[nodiscard]] Result<double> attention_flops(const AttentionSizes& sizes);
[[nodiscard]] Result<double> attention_backward_flops(const AttentionSizes& sizes);

// The same formulas for an operator as PyTorch's profiler records it.
struct OperatorCost {
  double flops = 0;  // causal attention in full
  bool is_attention = false;
  bool is_backward = false;
  bool is_causal = false;  // attention that was asked to be causal; false also where the argument was not recorded
};

// `operator_name` is "aten::mm"; `input_dims` and `concrete_inputs` are the JSON texts of a trace's `Input Dims`
// ("[[64, 32], [32, 16]]") and `Concrete Inputs`. Missing when the operator has no formula, or its arguments were not
// recorded or do not fit the operator.
[[nodiscard]] std::optional<OperatorCost> compute_operator_cost(std::string_view operator_name,
                                                                std::string_view input_dims,
                                                                std::string_view concrete_inputs);

}  // namespace stepscope

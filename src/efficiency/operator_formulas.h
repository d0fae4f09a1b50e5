// The formulas behind stepscope/efficiency.h, by family. Private to this room.
//
// A formula is a function of the parsed arguments plus what differs between operators of one family (which argument
// is the query, where `is_causal` stands), kept in a row of the family's table.
#pragma once

#include <optional>
#include <string_view>

#include "efficiency/call_arguments.h"
#include "efficiency/operator_flops.h"

namespace stepscope {

inline constexpr double kFlopsPerMultiplyAdd = 2;
// Five products, one of them the recomputed scores, for the forward's two (FlashAttention-2, section 3.1).
inline constexpr double kAttentionBackwardFactor = 2.5;

// The two products of attention: scores, and values weighted by them.
constexpr double attention_forward(double batch_heads, double query_length, double key_length, double head_size,
                                   double value_size) {
  return kFlopsPerMultiplyAdd * batch_heads * query_length * key_length * (head_size + value_size);
}

// Matrix products and elementwise sums (matmul_flops.cpp).
[[nodiscard]] std::optional<double> matrix_product(const CallArguments& call, std::size_t left);
[[nodiscard]] std::optional<double> batched_product(const CallArguments& call, std::size_t left);
[[nodiscard]] std::optional<double> linear_product(const CallArguments& call);
[[nodiscard]] std::optional<double> general_product(const CallArguments& call);
[[nodiscard]] std::optional<double> einsum_product(const CallArguments& call);
[[nodiscard]] std::optional<double> elementwise_result(const CallArguments& call);

// Convolutions (convolution_flops.cpp).
struct ConvolutionForm {
  std::string_view name;
  std::size_t stride, padding, dilation;  // argument positions; 0 where the operator has none
  bool is_transposed = false;             // always
  std::size_t transposed = 0;             // position of the flag that says so; 0 if none
  bool is_backward = false;               // (grad_output, input, weight, ..., output_mask)
  std::size_t output_mask = 0;
};
[[nodiscard]] const ConvolutionForm* find_convolution(std::string_view name);
[[nodiscard]] std::optional<double> convolution(const CallArguments& call, const ConvolutionForm& form);

// Attention (attention_flops.cpp).
enum class AttentionLayout : std::uint8_t { kHeadsFirst, kSequenceFirst };  // B,H,S,D and B,S,H,D
struct AttentionForm {
  std::string_view name;
  std::size_t query;   // key and value follow it
  std::size_t causal;  // position of is_causal
  AttentionLayout layout = AttentionLayout::kHeadsFirst;
  bool is_mask_type = false;  // the argument is a number: 0 none, 1 and 2 causal
  bool is_backward = false;
};
[[nodiscard]] const AttentionForm* find_attention(std::string_view name);
[[nodiscard]] std::optional<double> attention(const CallArguments& call, const AttentionForm& form);
[[nodiscard]] bool attention_is_causal(const CallArguments& call, const AttentionForm& form);

}  // namespace stepscope

// Floating-point operations of one operator call, from its recorded arguments.
//
// PyTorch's own seven formulas (with_flops=True) cover matrix products, conv2d, add and mul; a training step
// also has attention, other convolutions and every backward pass, so those are here too. Definitions: a multiply-add
// counts two; scaled dot-product attention is 2*B*H*Sq*Sk*(Dqk + Dv), its backward 2.5 times that (five matrix products
// for two; FlashAttention-2, section 3.1); a convolution 2 * batch * output positions * weight elements, and the
// same again for each gradient that its backward computes.
// Counts are doubles: whole numbers up to 2^53, and no overflow on absurd shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope {

struct OperatorCost {
  double flops = 0;  // causal attention in full
  bool is_attention = false;
  bool is_backward = false;
  bool is_causal = false;  // attention that was asked to be causal; false also where the argument was not recorded
};

// How an operator takes part in a sum over nested operators.
enum class FlopsRole : std::uint8_t {
  kNone,       // no formula
  kWhole,      // its formula covers everything nested in it
  kComposite,  // counts only if nothing nested in it did: linear, matmul, einsum
};
[[nodiscard]] FlopsRole find_flops_role(std::string_view operator_name);

// `input_dims` and `concrete_inputs` are the JSON text of the trace. Missing when the operator has no formula or its
// arguments were not recorded or do not fit the operator.
[[nodiscard]] std::optional<OperatorCost> compute_operator_cost(std::string_view operator_name,
                                                                std::string_view input_dims,
                                                                std::string_view concrete_inputs);

// What PyTorch's table shows under `Total FLOPs`: aten::mm, addmm, bmm, baddbmm, conv2d, add and mul, nothing else.
[[nodiscard]] bool has_torch_flops(std::string_view operator_name);
[[nodiscard]] std::optional<double> compute_torch_flops(std::string_view operator_name, std::string_view input_dims,
                                                        std::string_view concrete_inputs);

// Does the name look like a matrix product, a convolution, attention or
// a recurrent layer, so that a missing formula leaves a hole in the sum?
[[nodiscard]] bool looks_like_matmul(std::string_view operator_name);

}  // namespace stepscope

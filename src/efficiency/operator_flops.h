// What the analysis asks about operators beyond their cost, which is public: stepscope/efficiency.h.
//
// PyTorch's own seven formulas (with_flops=True) cover matrix products, conv2d, add and mul; a training step
// also has attention, other convolutions and every backward pass, so those are here too.
// Counts are doubles: whole numbers up to 2^53, and no overflow on absurd shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stepscope/efficiency.h"

namespace stepscope {

// How an operator takes part in a sum over nested operators.
enum class FlopsRole : std::uint8_t {
  kNone,       // no formula
  kWhole,      // its formula covers everything nested in it
  kComposite,  // counts only if nothing nested in it did: linear, matmul, einsum
};
[[nodiscard]] FlopsRole find_flops_role(std::string_view operator_name);

// What PyTorch's table shows under `Total FLOPs`: aten::mm, addmm, bmm, baddbmm, conv2d, add and mul, nothing else.
[[nodiscard]] bool has_torch_flops(std::string_view operator_name);
[[nodiscard]] std::optional<double> compute_torch_flops(std::string_view operator_name, std::string_view input_dims,
                                                        std::string_view concrete_inputs);

// Does the name look like a matrix product, a convolution, attention or
// a recurrent layer, so that a missing formula leaves a hole in the sum?
[[nodiscard]] bool looks_like_matmul(std::string_view operator_name);

}  // namespace stepscope

// The data type in which most of the counted work was done: it decides which peak is the right one.
#pragma once

#include <string>

#include "analyze/counted_operators.h"

namespace stepscope {

// "bf16", "fp16", "fp8", "int8", "fp64", "tf32" or "fp32"; empty when unknown. `weights` are FLOPs, one for each
// counted operator (0 for those outside the window). Whether fp32 operands were multiplied as TF32 shows only in the
// names of the kernels: tensor cores have no full fp32.
[[nodiscard]] std::string find_dominant_dtype(const Trace& trace, const CountedOperators& counted,
                                              const std::vector<double>& weights);

}  // namespace stepscope

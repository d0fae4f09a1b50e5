// Sentences about matmul sizes and MFU that no-tensor-cores and compute-bound share.
#pragma once

#include "rules/costs.h"

namespace stepscope {

// Sizes that are no multiple of 8, named with their operator, as evidence and advice. Nothing when sizes are fine or
// were not recorded.
void add_matmul_sizes(const RuleInput& input, Finding& finding);
// "aten::mm of 16384x1020 by 1020x16001" when such sizes take 5 % of the matmul time; else empty.
[[nodiscard]] std::string describe_odd_matmul(const RuleInput& input);
// MFU beside the range of well-tuned runs, or why there is none.
void add_efficiency(const RuleInput& input, Finding& finding);

}  // namespace stepscope

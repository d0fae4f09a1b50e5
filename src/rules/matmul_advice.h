// Sentences about matmul sizes and MFU that no-tensor-cores and compute-bound share.
#pragma once

#include "rules/costs.h"

namespace stepscope {

// Sizes that are no multiple of 8, named with their operator, as evidence and advice. Nothing when sizes are fine or
// were not recorded.
void add_matmul_sizes(const RuleInput& input, Finding& finding);
// MFU beside the range of well-tuned runs, or why there is none.
void add_efficiency(const RuleInput& input, Finding& finding);

}  // namespace stepscope

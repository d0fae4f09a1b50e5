// Advice that fits the program which wrote the trace.
#pragma once

#include <vector>

#include "rules/finding.h"

namespace stepscope {

// Rules advise as for eager PyTorch. For JAX their advice is replaced; for a model that torch.compile has compiled, and
// for steps that are CUDA graphs already, advice to do that is. For captures, switches of torch.profiler become those
// of `stepscope run`.
void fit_advice(const RuleInput& input, std::vector<Finding>& findings);

}  // namespace stepscope

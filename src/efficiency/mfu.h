// Model FLOPs utilization by the PaLM formula (PaLM: Scaling Language Modeling with Pathways, appendix B).
#pragma once

#include "base/result.h"

namespace stepscope {

struct ModelShape {
  double params = 0;
  double layers = 0;
  double d_model = 0;
  double context = 0;
};

// 6 N + 12 layers d_model context: forward and backward, for one token. With layers, d_model or context 0 the
// attention term is left out.
[[nodiscard]] double flops_per_token(const ModelShape& model);

// tokens_per_step * flops_per_token / (step_s * gpus * peak_flops). Errors: any of them <= 0 or not finite; a
// result of 100% or more (a data error, and said so).
[[nodiscard]] Result<double> compute_mfu(const ModelShape& model, double tokens_per_step, double step_s, double gpus,
                                         double peak_flops_per_s);

}  // namespace stepscope

// The formula is short; what matters is to refuse numbers that cannot be. See mfu.h.
#include "efficiency/mfu.h"

#include <cmath>
#include <cstdio>

namespace stepscope {
namespace {

bool is_positive(double number) { return std::isfinite(number) && number > 0; }

Error invalid(const char* what) {
  return Error{ErrorCode::kInvalidArgument, std::string(what) + " must be a number above 0", {}};
}

std::string percent_text(double ratio) {
  char text[48];
  std::snprintf(text, sizeof text, "%.4g%%", ratio * 100);
  return text;
}

}  // namespace

double flops_per_token(const ModelShape& model) {
  return 6 * model.params + 12 * model.layers * model.d_model * model.context;
}

Result<double> compute_mfu(const ModelShape& model, double tokens_per_step, double step_s, double gpus,
                           double peak_flops_per_s) {
  if (!is_positive(model.params)) return invalid("the number of parameters");
  for (const double part : {model.layers, model.d_model, model.context}) {
    if (!std::isfinite(part) || part < 0) return invalid("layers, d_model and context, where given,");
  }
  if (!is_positive(tokens_per_step)) return invalid("tokens per step");
  if (!is_positive(step_s)) return invalid("the step time");
  if (!is_positive(gpus)) return invalid("the number of GPUs");
  if (!is_positive(peak_flops_per_s)) return invalid("the peak FLOP/s");
  const double ratio = tokens_per_step * flops_per_token(model) / (step_s * gpus * peak_flops_per_s);
  if (!std::isfinite(ratio) || ratio >= 1) {
    return Error{ErrorCode::kInvalidArgument,
                 "MFU comes out as " + percent_text(ratio) +
                     ", which no machine reaches: check the parameters, the tokens per step, the step time and the "
                     "peak (it must be dense and for the data type in use)",
                 {}};
  }
  return ratio;
}

}  // namespace stepscope

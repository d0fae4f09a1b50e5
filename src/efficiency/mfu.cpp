// The formula is short; what matters is to refuse numbers that cannot be, each with the argument's name.
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "stepscope/efficiency.h"

namespace stepscope {
namespace {

std::string text_of(double number) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

Error invalid(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message), {}}; }

Status check_positive(const char* name, double number) {
  if (std::isfinite(number) && number > 0) return Done{};
  return invalid(std::string(name) + " must be a number above 0, not " + text_of(number));
}

Status check_not_negative(const char* name, double number) {
  if (std::isfinite(number) && number >= 0) return Done{};
  return invalid(std::string(name) + " must be 0 or a number above 0, not " + text_of(number));
}

// One of the three left out would drop the attention term without a word.
Status check_attention(const ModelShape& model) {
  const std::array<std::pair<const char*, double>, 3> parts = {
      {{"layers", model.layers}, {"d_model", model.d_model}, {"context", model.context}}};
  bool has_some = false;
  for (const auto& [name, number] : parts) {
    if (auto status = check_not_negative(name, number); !status) return status.error();
    has_some = has_some || number > 0;
  }
  for (const auto& [name, number] : parts) {
    if (has_some && number == 0) {
      return invalid(std::string(name) +
                     " is missing: attention needs layers, d_model and context; leave out all three to ignore it");
    }
  }
  return Done{};
}

std::string percent_text(double ratio) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.4g%%", ratio * 100);
  return text.data();
}

Result<double> compute_ratio(const char* what, double flops_per_step, double step_s, double gpus, double peak_flops) {
  const std::array<std::pair<const char*, double>, 3> arguments = {
      {{"step_s", step_s}, {"gpus", gpus}, {"peak_flops", peak_flops}}};
  for (const auto& [name, number] : arguments) {
    if (auto status = check_positive(name, number); !status) return status.error();
  }
  // Divided one by one: the product of all three may overflow where the ratio does not.
  const double ratio = flops_per_step / step_s / gpus / peak_flops;
  if (std::isfinite(ratio) && ratio < 1) return ratio;
  return invalid(std::string(what) + " comes out as " + percent_text(ratio) +
                 ", which no machine reaches: check the FLOPs of a step, step_s, gpus and peak_flops (it must be dense "
                 "and for the data type in use)");
}

}  // namespace

Result<TokenFlops> flops_per_token(const ModelShape& model) {
  if (auto status = check_positive("params", model.params); !status) return status.error();
  if (auto status = check_attention(model); !status) return status.error();
  return TokenFlops{6 * model.params, 12 * model.layers * model.d_model * model.context};
}

Result<double> hfu(double params, double layers, double d_model, double context, double tokens_per_step, double step_s,
                   double gpus, double peak_flops, double recomputed_flops) {
  const auto token = flops_per_token({params, layers, d_model, context});
  if (!token) return token.error();
  if (auto status = check_positive("tokens_per_step", tokens_per_step); !status) return status.error();
  if (auto status = check_not_negative("recomputed_flops", recomputed_flops); !status) return status.error();
  const char* what = recomputed_flops > 0 ? "HFU" : "MFU";
  return compute_ratio(what, tokens_per_step * token->total() + recomputed_flops, step_s, gpus, peak_flops);
}

Result<double> mfu(double params, double layers, double d_model, double context, double tokens_per_step, double step_s,
                   double gpus, double peak_flops) {
  return hfu(params, layers, d_model, context, tokens_per_step, step_s, gpus, peak_flops, 0);
}

Result<double> flops_utilization(double flops_per_step, double step_s, double gpus, double peak_flops) {
  if (auto status = check_positive("flops_per_step", flops_per_step); !status) return status.error();
  return compute_ratio("the utilization", flops_per_step, step_s, gpus, peak_flops);
}

}  // namespace stepscope

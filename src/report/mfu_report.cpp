// Rows in the order of reading: the formula when a model is given, then the operators of the trace.
#include "report/mfu_report.h"

#include <fmt/format.h>

#include "report/numbers.h"

namespace stepscope {
namespace {

// Of the numbers asked with, of the trace, and of both together: what is wrong, which the exit status follows.
Error invalid(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message), {}}; }
Error not_found(std::string message) { return Error{ErrorCode::kNotFound, std::move(message), {}}; }
Error impossible(std::string message) { return Error{ErrorCode::kDamaged, std::move(message), {}}; }

std::vector<MfuStepTime> gather_step_times(const MfuInput& input) {
  std::vector<MfuStepTime> times;
  if (input.step_s) times.push_back({MfuStepSource::kGiven, *input.step_s});
  if (input.trace) times.insert(times.end(), input.trace->step_times.begin(), input.trace->step_times.end());
  return times;
}

// What one GPU does again in a step when the model's pass costs `flops` there.
std::optional<double> recomputed_of_formula(const MfuInput& input, double flops) {
  switch (input.recompute) {
    case Recompute::kNotSaid:
      return std::nullopt;
    case Recompute::kNone:
      return 0;
    case Recompute::kFull:
      return flops / 3;  // a forward pass: TokenFlops::forward
    case Recompute::kGiven:
      return input.recomputed_flops / input.gpus.count;
  }
  return std::nullopt;
}

MfuRow formula_row(const MfuInput& input, MfuCount count, const TokenFlops& token) {
  MfuRow row;
  row.count = count;
  row.flops = input.model->tokens_per_step * token.total() / input.gpus.count;
  row.recomputed_flops = recomputed_of_formula(input, row.flops);
  return row;
}

Status add_formula(MfuReport& report) {
  const MfuInput& input = report.input;
  auto token = flops_per_token(input.model->shape);
  if (!token) return token.error();
  report.token = *token;
  report.rows.push_back(formula_row(input, MfuCount::kFormula, *token));
  if (input.model->embedding_params <= 0) return Done{};
  ModelShape rest = input.model->shape;
  rest.params -= input.model->embedding_params;
  auto rest_token = flops_per_token(rest);
  if (!rest_token) return invalid("vocab * d_model must be less than params, and is not");
  report.rows.push_back(formula_row(input, MfuCount::kFormulaWithoutEmbedding, *rest_token));
  return Done{};
}

void add_operators(MfuReport& report) {
  const MfuTrace& trace = *report.input.trace;
  if (trace.operator_flops <= 0) return;
  report.rows.push_back({MfuCount::kOperators, trace.operator_flops, trace.recomputed_flops, {}, {}});
  if (trace.operator_flops_causal_halved >= trace.operator_flops) return;
  report.rows.push_back(
      {MfuCount::kOperatorsCausalHalved, trace.operator_flops_causal_halved, trace.recomputed_flops, {}, {}});
}

void divide(MfuReport& report) {
  const double peak = report.input.peak.flops_per_s;
  for (MfuRow& row : report.rows) {
    for (const MfuStepTime& time : report.step_times) {
      const auto model = flops_utilization(row.flops, time.step_s, 1, peak);
      const auto hardware = flops_utilization(row.flops + row.recomputed_flops.value_or(0), time.step_s, 1, peak);
      row.mfu_ratio.push_back(model ? std::optional(*model) : std::nullopt);
      row.hfu_ratio.push_back(hardware && row.recomputed_flops ? std::optional(*hardware) : std::nullopt);
    }
  }
}

Status check_headline(const MfuReport& report) {
  const MfuRow& row = report.rows.front();
  const bool is_hfu = row.mfu_ratio.front().has_value();
  if (is_hfu && (!row.recomputed_flops || row.hfu_ratio.front())) return Done{};
  const double flops = row.flops + (is_hfu ? row.recomputed_flops.value_or(0) : 0);
  const double possible = report.input.peak.flops_per_s * report.step_times.front().step_s;
  return impossible(fmt::format(
      "data error: {} comes out as {:.4g}%, and no machine reaches 100%: a step asks {} of each GPU, which can do at "
      "most "
      "{} in that time. Check the parameters, the tokens of a step, the step time, the number of GPUs and the peak "
      "(dense, of one GPU, for the data type in use)",
      is_hfu ? "HFU" : "MFU", flops / possible * 100, show_quantity(flops, "FLOP"), show_quantity(possible, "FLOP")));
}

}  // namespace

Result<MfuReport> build_mfu_report(MfuInput input) {
  MfuReport report;
  report.input = std::move(input);
  report.step_times = gather_step_times(report.input);
  if (report.input.model) {
    if (auto status = add_formula(report); !status) return status.error();
  }
  if (report.input.trace) add_operators(report);
  if (report.step_times.empty()) {
    const std::string why = report.input.trace ? ": " + report.input.trace->steps_not_available : "";
    return not_found("the time of a step is not known" + why);
  }
  if (report.rows.empty()) {
    const std::string why = report.input.trace ? report.input.trace->operators_not_available : "no model";
    return not_found("nothing says how many FLOPs a step takes: " + why +
                     "; or describe the model with --params and --tokens-per-step");
  }
  divide(report);
  if (auto status = check_headline(report); !status) return status.error();
  return report;
}

}  // namespace stepscope

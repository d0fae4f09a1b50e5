// The document of `stepscope mfu --json`: docs/formats/mfu.md.
#include <cmath>

#include "report/json_facts.h"
#include "report/mfu_report.h"
#include "report/text.h"

namespace stepscope {
namespace {

// Raised when a key changes its meaning or goes away.
constexpr int kMfuSchemaVersion = 1;

std::string_view flops_name(MfuCount count) {
  switch (count) {
    case MfuCount::kFormula:
      return "formula";
    case MfuCount::kFormulaWithoutEmbedding:
      return "formula_without_embedding";
    case MfuCount::kOperators:
      return "operators";
    case MfuCount::kOperatorsCausalHalved:
      return "operators_causal_halved";
  }
  return "";
}

std::string_view source_name(MfuStepSource source) {
  switch (source) {
    case MfuStepSource::kGiven:
      return "given";
    case MfuStepSource::kRecorded:
      return "trace_median";
    case MfuStepSource::kUnprofiled:
      return "trace_unprofiled_estimate";
    case MfuStepSource::kWindow:
      return "trace_mean";
  }
  return "";
}

Json recompute_json(Recompute recompute) {
  switch (recompute) {
    case Recompute::kNotSaid:
      return nullptr;
    case Recompute::kNone:
      return "none";
    case Recompute::kFull:
      return "full";
    case Recompute::kGiven:
      return "given";
  }
  return nullptr;
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(clean_text(text)); }

Json positive_or_null(double value) { return value > 0 ? Json(value) : Json(nullptr); }

Json model_json(const MfuReport& report) {
  if (!report.input.model) return nullptr;
  const MfuModel& model = *report.input.model;
  return {{"params", model.shape.params},
          {"layers", positive_or_null(model.shape.layers)},
          {"d_model", positive_or_null(model.shape.d_model)},
          {"context", positive_or_null(model.shape.context)},
          {"vocab", positive_or_null(model.vocab)},
          {"embedding_params", positive_or_null(model.embedding_params)},
          {"tokens_per_step", model.tokens_per_step},
          {"flops_per_token", report.token->total()},
          {"attention_flops_per_token", positive_or_null(report.token->attention)}};
}

Json ratios_json(const std::vector<std::optional<double>>& ratios) {
  Json out = Json::array();
  for (const auto& ratio : ratios) out.push_back(json_or_null(ratio));
  return out;
}

std::string_view attention_name(const MfuReport& report, MfuCount count) {
  if (count == MfuCount::kOperators) return "full";
  if (count == MfuCount::kOperatorsCausalHalved) return "causal_halved";
  return report.token->attention > 0 ? "full" : "ignored";
}

Json counts_json(const MfuReport& report) {
  Json out = Json::array();
  for (const MfuRow& row : report.rows) {
    out.push_back({{"flops", flops_name(row.count)},
                   {"attention", attention_name(report, row.count)},
                   {"flops_per_gpu_step", row.flops},
                   {"recomputed_flops_per_gpu_step", json_or_null(row.recomputed_flops)},
                   {"mfu_ratio", ratios_json(row.mfu_ratio)},
                   {"hfu_ratio", ratios_json(row.hfu_ratio)}});
  }
  return out;
}

Json times_json(const std::vector<MfuStepTime>& times) {
  Json out = Json::array();
  for (const MfuStepTime& time : times) {
    out.push_back({{"source", source_name(time.source)}, {"step_ns", std::llround(time.step_s * 1e9)}});
  }
  return out;
}

Json trace_json(const MfuReport& report) {
  if (!report.input.trace) return nullptr;
  const MfuTrace& trace = *report.input.trace;
  return {{"path", clean_text(trace.path)},
          {"step_count", trace.step_count},
          {"operators_not_available", text_or_null(trace.operators_not_available)},
          {"operators_without_formula", trace.operators_without_formula}};
}

}  // namespace

std::string write_mfu_json(const MfuReport& report) {
  const MfuInput& input = report.input;
  const MfuRow& headline = report.rows.front();
  const ReportStatus status = input.trace ? input.trace->status : ReportStatus::kComplete;
  Json out = {{"schema_version", kMfuSchemaVersion},
              {"stepscope_version", kStepscopeVersion},
              {"status", report_status_name(status)},
              {"mfu_ratio", json_or_null(headline.mfu_ratio.front())},
              {"hfu_ratio", json_or_null(headline.hfu_ratio.front())}};
  out["gpus"] = {{"count", input.gpus.count}, {"source", input.gpus.source}};
  out["peak"] = {{"flops_per_s", input.peak.flops_per_s},
                 {"source", clean_text(input.peak.source)},
                 {"device_name", text_or_null(input.peak.device_name)},
                 {"dtype", text_or_null(input.peak.dtype)},
                 {"dtype_source", text_or_null(input.peak.dtype_source)}};
  out["model"] = model_json(report);
  out["recompute"] = recompute_json(input.recompute);
  out["step_times"] = times_json(report.step_times);
  out["counts"] = counts_json(report);
  out["trace"] = trace_json(report);
  return out.dump(2, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace stepscope

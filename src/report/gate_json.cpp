// The document of docs/formats/gate.md.
#include <cmath>

#include "report/gate_report.h"
#include "report/json_facts.h"

namespace stepscope {
namespace {

const char* outcome_name(GateOutcome outcome) {
  switch (outcome) {
    case GateOutcome::kPassed:
      return "passed";
    case GateOutcome::kFailed:
      return "failed";
    case GateOutcome::kNoBase:
      return "no_base";
    default:
      return "cannot_tell";
  }
}

const char* unit_name(CompareUnit unit) {
  return unit == CompareUnit::kSteps ? "steps" : unit == CompareUnit::kRuns ? "runs" : "pairs";
}

// JSON has no infinity.
Json finite(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json whole(const std::optional<double>& value) {
  return value && std::abs(*value) < 9e18 ? Json(std::llround(*value)) : Json(nullptr);
}

Json check_json(const GateCheck& check, const GateResult& result) {
  const bool is_time = check.quantity == GateQuantity::kStepTime;
  const auto& interval = check.comparison.interval;
  Json out = {{"quantity", gate_quantity_name(check.quantity)},
              {"verdict", gate_verdict_name(check.verdict)},
              {"doubt", check.doubt == GateDoubt::kNone ? Json(nullptr) : Json(gate_doubt_name(check.doubt))},
              {"sentence", gate_check_sentence(check, result)}};
  out[is_time ? "base_ns" : "base_bytes"] = whole(check.base);
  out[is_time ? "new_ns" : "new_bytes"] = whole(check.other);
  out["ratio"] = finite(check.ratio);
  out["limit_ratio"] = finite(check.limit_ratio);
  if (!is_time) return out;
  out["ratio_interval"] =
      interval ? Json{{"low", finite(interval->low)}, {"high", finite(interval->high)}} : Json(nullptr);
  out["estimator"] = check.is_geometric_mean ? "geometric_mean" : "median";
  out["unit"] = unit_name(check.comparison.unit);
  out["base_count"] = check.comparison.base_count;
  out["new_count"] = check.comparison.other_count;
  out["sees_noise_between_runs"] = check.comparison.sees_noise_between_runs;
  return out;
}

Json side_json(const GateSide& side, const std::vector<std::string>& files) {
  Json runs = Json::array();
  for (const GateRun& run : side.runs) {
    runs.push_back({{"source", run.source},
                    {"kind", gate_time_kind_name(run.kind)},
                    {"step_count", run.steps_ns.size()},
                    {"rank", json_or_null(run.rank)},
                    {"rank_count", run.rank_count},
                    {"window_count", run.window_count},
                    {"world_size", json_or_null(run.world_size)},
                    {"device_name", run.device_name.empty() ? Json(nullptr) : Json(run.device_name)},
                    {"allocated_peak_bytes", json_or_null(run.allocated_peak_bytes)},
                    {"reserved_peak_bytes", json_or_null(run.reserved_peak_bytes)}});
  }
  return {{"files", files}, {"runs", std::move(runs)}};
}

Json limit_json(const std::optional<GateLimit>& limit, const char* absolute_name) {
  if (!limit) return nullptr;
  return {{"ratio", json_or_null(limit->ratio)}, {absolute_name, json_or_null(limit->absolute)}};
}

Json asked_json(const GateReport& report) {
  const GateOptions& options = report.options;
  return {{"max_slower", limit_json(options.slower, "ns")},
          {"max_memory", limit_json(options.memory, "bytes")},
          {"between_runs_ratio", json_or_null(options.between_runs_ratio)},
          {"strict", options.strict},
          {"allow_few", report.allow_few},
          {"allow_mixed", options.allow_mixed}};
}

}  // namespace

std::string write_gate_json(const GateReport& report) {
  const GateResult& result = report.result;
  const GateOutcome outcome = gate_outcome(report);
  const bool is_told = outcome != GateOutcome::kCannotTell;
  const bool is_unusable = report.is_unwritten || (!is_told && result.not_comparable);
  Json checks = Json::array();
  if (report.has_base) {
    for (const GateCheck& check : result.checks) checks.push_back(check_json(check, result));
  }
  const Json out = {{"schema_version", kGateSchemaVersion},
                    {"stepscope_version", kStepscopeVersion},
                    {"status", is_unusable ? "unusable"
                               : is_told   ? "complete"
                                           : "partial"},
                    {"verdict", outcome_name(outcome)},
                    {"sentence", gate_sentence(report)},
                    {"explanation", result.explanation.empty() ? Json(nullptr) : Json(result.explanation)},
                    {"asked", asked_json(report)},
                    {"confidence_ratio", report.options.confidence_ratio},
                    {"checks", std::move(checks)},
                    {"not_comparable", json_or_null(result.not_comparable)},
                    {"losses", result.losses},
                    {"warnings", result.warnings},
                    {"base", report.has_base ? side_json(report.base, report.base_files) : Json(nullptr)},
                    {"new", side_json(report.other, report.other_files)},
                    {"base_updated", report.is_updated},
                    {"update", report.update.empty() ? Json(nullptr) : Json(report.update)}};
  return out.dump(1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace stepscope

// The document of docs/formats/bench.md.
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/bench/bench.h"
#include "report/report.h"
#include "report/text.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json interval_json(const std::optional<ConfidenceInterval>& interval, bool is_ns) {
  if (!interval) return nullptr;
  if (is_ns) return {{"low", std::llround(interval->low)}, {"high", std::llround(interval->high)}};
  return {{"low", interval->low}, {"high", interval->high}};
}

const char* verdict_name(CompareVerdict verdict) {
  switch (verdict) {
    case CompareVerdict::kFaster:
      return "faster";
    case CompareVerdict::kSlower:
      return "slower";
    case CompareVerdict::kNoDifference:
      return "no_difference";
    default:
      return "too_few";
  }
}

const char* status_name(const BenchResult& result) {
  return result.failure ? "unusable" : result.interrupted_by ? "partial" : "complete";
}

Json run_json(const CommandRun& each) {
  return {{"order", each.order},
          {"wall_ns", each.run.wall_ns},
          {"user_ns", each.run.user_ns},
          {"system_ns", each.run.system_ns},
          {"max_rss_bytes", or_null(each.run.max_rss_bytes)},
          {"exit_status", or_null(each.run.exit_status)},
          {"signal", or_null(each.run.signal)}};
}

Json checks_json(const SampleChecks& checks) {
  Json out = {{"far_runs", checks.far_values.places}};
  out["slow_start"] = checks.slow_start ? Json{{"first_ns", std::llround(checks.slow_start->first)},
                                               {"rest_median_ns", std::llround(checks.slow_start->rest_median)}}
                                        : Json(nullptr);
  out["drift"] = checks.drift ? Json{{"first_median_ns", std::llround(checks.drift->first_median)},
                                     {"last_median_ns", std::llround(checks.drift->last_median)}}
                              : Json(nullptr);
  out["two_modes"] = checks.two_modes ? Json{{"low_median_ns", std::llround(checks.two_modes->low_median)},
                                             {"high_median_ns", std::llround(checks.two_modes->high_median)},
                                             {"low_ratio", checks.two_modes->low_ratio}}
                                      : Json(nullptr);
  return out;
}

Json command_json(const CommandSummary& summary, const std::vector<std::string>& words) {
  Json runs = Json::array();
  for (const CommandRun& each : summary.runs) runs.push_back(run_json(each));
  Json out = {
      {"label", summary.label}, {"command", summary.line}, {"words", words}, {"run_count", summary.runs.size()}};
  out["failed_count"] = summary.failed_count;
  out["median_ns"] = or_null(summary.median_ns);
  out["median_interval_ns"] = interval_json(summary.median_interval_ns, true);
  out["min_ns"] = or_null(summary.min_ns);
  out["p25_ns"] = or_null(summary.p25_ns);
  out["p75_ns"] = or_null(summary.p75_ns);
  out["max_ns"] = or_null(summary.max_ns);
  out["user_ns"] = or_null(summary.user_ns);
  out["system_ns"] = or_null(summary.system_ns);
  out["cores_used"] = or_null(summary.cores_used);
  out["max_rss_bytes"] = or_null(summary.max_rss_bytes);
  out["checks"] = checks_json(summary.checks);
  out["runs"] = std::move(runs);
  return out;
}

Json comparison_json(const BenchResult& result) {
  if (!result.comparison) return nullptr;
  const Comparison& comparison = *result.comparison;
  return {{"verdict", verdict_name(comparison.verdict)},
          {"sentence", comparison_sentence(result)},
          {"pair_count", comparison.base_count},
          {"ratio", or_null(comparison.ratio)},
          {"ratio_interval", interval_json(comparison.interval, false)},
          {"pairs_to_tell_1_percent", or_null(result.pairs_to_tell)}};
}

Json failure_json(const BenchResult& result) {
  if (!result.failure) return nullptr;
  const CommandFailure& failure = *result.failure;
  Json out = {{"command", result.commands[failure.command].label}, {"in_warm_up", failure.in_warm_up}};
  out["message"] = failure.error ? failure.error->message : end_words(*failure.run);
  out["exit_status"] = failure.run ? or_null(failure.run->exit_status) : Json(nullptr);
  out["signal"] = failure.run ? or_null(failure.run->signal) : Json(nullptr);
  out["stderr_end"] = failure.run ? Json(failure.run->stderr_end) : Json(nullptr);
  return out;
}

Json machine_json(const MachineState& machine) {
  return {{"cpu_count", machine.cpu_count},
          {"load_average", or_null(machine.load_average)},
          {"governor", or_null(machine.governor)}};
}

Json plan_json(const BenchRequest& request) {
  const MeasurePlan& plan = request.plan;
  Json out = {{"warm_up_count", plan.warm_up_count}, {"run_count", or_null(plan.run_count)}};
  out["min_time_ns"] = plan.run_count ? Json(nullptr) : Json(plan.min_time_ns);
  out["seed"] = plan.seed;
  out["by_shell"] = request.by_shell;
  out["ignore_failure"] = plan.ignore_failure;
  return out;
}

}  // namespace

std::string write_bench_json(const BenchRequest& request, const BenchResult& result) {
  Json commands = Json::array();
  for (std::size_t i = 0; i < result.commands.size(); ++i) {
    commands.push_back(command_json(result.commands[i], request.commands[i]));
  }
  Json out = {{"schema_version", kBenchSchemaVersion},
              {"stepscope_version", kStepscopeVersion},
              {"status", status_name(result)},
              {"comparison", comparison_json(result)},
              {"failure", failure_json(result)},
              {"interrupted_by_signal", or_null(result.interrupted_by)},
              {"asked", plan_json(request)},
              {"confidence_ratio", kBenchConfidence},
              {"commands", std::move(commands)},
              {"empty_command_ns", or_null(result.empty_command_ns)},
              {"hidden_rss_bytes", result.hidden_rss_bytes},
              {"machine", machine_json(result.machine)},
              {"warnings", result.warnings}};
  return out.dump(1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace stepscope

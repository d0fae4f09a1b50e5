// The document of `stepscope diff --json`: docs/formats/diff.md.
#include "report/diff_report.h"
#include "report/diff_words.h"
#include "report/json_facts.h"
#include "report/text.h"

namespace stepscope {
namespace {

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(clean_text(text)); }

Json texts_json(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(clean_text(text));
  return out;
}

Json change_json(const PartChange& change) {
  return {{"before_ns", change.before_ns},
          {"after_ns", change.after_ns},
          {"difference_ns", change.difference_ns()},
          {"noise_ns", json_or_null(change.noise_ns)},
          {"is_told", change.is_told}};
}

Json estimate_or_null(const std::optional<Estimate>& estimate) {
  return estimate ? estimate_json(*estimate) : Json(nullptr);
}

Json side_json(const DifferenceSide& side) {
  return {{"sources", texts_json(side.sources)},
          {"rank", json_or_null(side.rank)},
          {"device_name", text_or_null(side.device_name)},
          {"torch_version", text_or_null(side.torch_version)},
          {"step_count", side.step_count},
          {"step_median_ns", side.median_ns},
          {"step_least_ns", side.least_ns},
          {"step_greatest_ns", side.greatest_ns},
          {"step_unprofiled_ns", estimate_or_null(side.unprofiled_step)}};
}

Json comparison_json(const RankDifference& rank) {
  const Comparison& step = rank.step;
  Json out = {{"verdict", compare_verdict_name(step.verdict)},
              {"ratio", json_or_null(step.ratio)},
              {"ratio_low", step.interval ? Json(step.interval->low) : Json(nullptr)},
              {"ratio_high", step.interval ? Json(step.interval->high) : Json(nullptr)},
              {"unit", compare_unit_name(step.unit)},
              {"before_count", step.base_count},
              {"after_count", step.other_count},
              {"is_of_few_values", step.is_of_few_values},
              {"between_runs_ratio", json_or_null(rank.between_runs_ratio)},
              {"reason", text_or_null(step.reason)}};
  return out;
}

Json identity_json(const WorkIdentity& identity) {
  if (identity == WorkIdentity{}) return nullptr;
  return {{"operator", text_or_null(identity.operator_name)},
          {"shapes", text_or_null(identity.shapes)},
          {"kernel", text_or_null(identity.kernel)},
          {"place", text_or_null(identity.place)}};
}

Json work_json(const std::vector<WorkDifference>& work) {
  Json out = Json::array();
  for (const WorkDifference& row : work) {
    Json each = {{"match", work_match_name(row.match)},
                 {"class", kernel_class_name(class_of(row))},
                 {"before", identity_json(row.before)},
                 {"after", identity_json(row.after)},
                 {"before_call_count", row.before_call_count},
                 {"after_call_count", row.after_call_count},
                 {"by_calls_ns", row.by_calls_ns},
                 {"by_time_ns", row.by_time_ns}};
    each.update(change_json(row.busy));
    out.push_back(std::move(each));
  }
  return out;
}

Json finding_side_json(const std::optional<SummaryFinding>& finding) {
  if (!finding) return nullptr;
  return {{"severity", clean_text(finding->severity)},
          {"title", clean_text(finding->title)},
          {"saving_ns", estimate_or_null(finding->saving)},
          {"saving_ratio", json_or_null(finding->saving_ratio)}};
}

Json findings_json(const std::vector<FindingDifference>& findings) {
  Json out = Json::array();
  for (const FindingDifference& finding : findings) {
    out.push_back({{"id", clean_text(finding.id)},
                   {"change", finding_change_name(finding.change)},
                   {"before", finding_side_json(finding.before)},
                   {"after", finding_side_json(finding.after)}});
  }
  return out;
}

Json memory_json(const MemoryDifference& memory) {
  return {{"before_allocated_peak_bytes", json_or_null(memory.before_allocated_peak_bytes)},
          {"after_allocated_peak_bytes", json_or_null(memory.after_allocated_peak_bytes)},
          {"before_reserved_peak_bytes", json_or_null(memory.before_reserved_peak_bytes)},
          {"after_reserved_peak_bytes", json_or_null(memory.after_reserved_peak_bytes)}};
}

Json rank_json(const RankDifference& rank) {
  Json out = {
      {"rank", json_or_null(rank.rank)},        {"before", side_json(rank.before)},
      {"after", side_json(rank.after)},         {"step", comparison_json(rank)},
      {"is_host_only", rank.is_host_only},      {"mean_step", change_json(rank.mean_step)},
      {"gpu_busy", change_json(rank.gpu_busy)}, {"exposed_communication", change_json(rank.exposed_communication)},
      {"gpu_work", change_json(rank.gpu_work)}, {"idle", change_json(rank.idle)}};
  Json classes = Json::object(), causes = Json::object(), operators = Json::array();
  for (const ClassDifference& row : rank.classes) {
    classes[std::string(kernel_class_name(row.kernel_class))] = change_json(row.busy);
  }
  for (const IdleDifference& row : rank.causes) {
    causes[std::string(host_label_name(row.cause))] = change_json(row.idle);
  }
  for (const OperatorDifference& row : rank.operators) {
    Json each = {{"name", text_or_null(row.name)},
                 {"before_call_count", row.before_call_count},
                 {"after_call_count", row.after_call_count}};
    each.update(change_json(row.self_cpu));
    operators.push_back(std::move(each));
  }
  out["busy_by_class"] = std::move(classes);
  out["idle_by_cause"] = std::move(causes);
  out["work"] = work_json(rank.work);
  out["operators"] = std::move(operators);
  out["findings"] = findings_json(rank.findings);
  out["memory"] = memory_json(rank.memory);
  return out;
}

Json ranks_json(const RunDifference& difference) {
  Json out = Json::array();
  for (const RankChange& rank : difference.ranks) {
    out.push_back({{"rank", json_or_null(rank.rank)},
                   {"before_step_ns", rank.before_step_ns},
                   {"after_step_ns", rank.after_step_ns},
                   {"before_own_ns", rank.before_own_ns},
                   {"after_own_ns", rank.after_own_ns},
                   {"before_allocated_peak_bytes", json_or_null(rank.before_allocated_peak_bytes)},
                   {"after_allocated_peak_bytes", json_or_null(rank.after_allocated_peak_bytes)}});
  }
  return out;
}

}  // namespace

std::string write_diff_json(const DiffReport& report) {
  const RunDifference& difference = report.difference;
  Json out = {{"schema_version", kDiffSchemaVersion},
              {"stepscope_version", kStepscopeVersion},
              {"status", report_status_name(report.status())},
              {"verdict", diff_verdict_name(difference)},
              {"withheld", difference.withheld ? Json(clean_text(*difference.withheld)) : Json(nullptr)},
              {"answer", clean_text(diff_answer(difference))},
              {"explanation", clean_text(explain_in_one_line(difference))},
              {"before_files", texts_json(report.before_files)},
              {"after_files", texts_json(report.after_files)},
              {"doubts", texts_json(difference.doubts)},
              {"is_same_recording", difference.is_same_recording}};
  Json unreadable = Json::array();
  for (const UnreadableRank& rank : difference.unreadable) {
    unreadable.push_back({{"path", clean_text(rank.source)}, {"reason", clean_text(rank.reason)}});
  }
  out["unreadable"] = std::move(unreadable);
  out["ranks"] = ranks_json(difference);
  out["only_before_ranks"] = difference.only_before;
  out["only_after_ranks"] = difference.only_after;
  out["typical_rank"] = rank_json(difference.typical_rank);
  out["explaining_rank"] =
      difference.largest == difference.typical ? Json(nullptr) : rank_json(difference.largest_rank);
  return out.dump(2, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace stepscope

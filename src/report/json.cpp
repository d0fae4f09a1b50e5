// The document as a whole. Keys stand in the order of reading: is it usable, the answer, the facts behind it.
#include "report/json.h"

#include <algorithm>

#include "report/fleet_json.h"
#include "report/json_facts.h"
#include "report/text.h"

namespace stepscope {
namespace {

Json finding_json(const Finding& finding) {
  Json evidence = Json::array();
  for (const Evidence& item : finding.evidence) {
    evidence.push_back({{"text", item.text}, {"at", item.at ? interval_json(*item.at) : Json(nullptr)}});
  }
  Json out = {{"id", finding.id}, {"severity", severity_name(finding.severity)}, {"title", finding.title}};
  out["saving_ns"] = finding.saving ? estimate_json(*finding.saving) : Json(nullptr);
  out["saving_ratio"] = json_or_null(finding.saving_ratio);
  out["evidence"] = std::move(evidence);
  out["advice"] = finding.advice;
  out["gain"] = finding.gain.empty() ? Json(nullptr) : Json(finding.gain);
  return out;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings) out.push_back(finding_json(finding));
  return out;
}

Json head_json(ReportStatus status) {
  return {{"schema_version", kReportSchemaVersion},
          {"stepscope_version", kStepscopeVersion},
          {"status", report_status_name(status)}};
}

Json report_json(const Report& report) {
  Json out = head_json(report.status);
  out["verdict"] = report.verdict;
  out["headline_withheld"] = json_or_null(report.ledger.headline_withheld);
  out["source"] = source_json(report);
  out["asked"] = asked_json(report.asked);
  out["found"] = found_json(report);
  out["steps"] = steps_json(report);
  out["devices"] = devices_json(report);
  out["findings"] = findings_json(report.findings);
  out["efficiency"] = efficiency_json(report);
  out["memory"] = memory_json(report.memory);
  out["what_if"] = what_if_json(report.what_ifs);
  out["synchronizations"] = synchronizations_json(report);
  // The device that a table is of; null where the recording has one only.
  const Json device = report.devices.size() > 1 ? Json(report.main_device()->number) : Json(nullptr);
  out["launches"] = launches_json(report.launches);
  out["launches"]["device"] = device;
  out["ledger"] = ledger_json(report.ledger);
  out["notes"] = notes_json(report.notes);
  if (report.tables) {
    out["tables"] = tables_json(*report.tables);
    out["tables"]["device"] = device;
  }
  return out;
}

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kPermission:
      return "permission";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kEmpty:
      return "empty";
    case ErrorCode::kUnknownFormat:
      return "unknown_format";
    case ErrorCode::kDamaged:
      return "damaged";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kUnsupported:
      return "unsupported";
  }
  return "";
}

Json unusable_json(const UnusableFile& file) {
  Json out = head_json(ReportStatus::kUnusable);
  out["source"] = {{"path", file.path.empty() ? Json(nullptr) : Json(file.path)}};
  out["error"] = {{"code", error_code_name(file.error.code)},
                  {"message", file.error.message},
                  {"byte_offset", json_or_null(file.error.byte_offset)}};
  return out;
}

// Replacing instead of throwing: names come from files in any encoding.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace

std::string write_json(const Report& report) { return dump(report_json(report)); }

std::string write_json(const UnusableFile& file) { return dump(unusable_json(file)); }

std::string write_json(const RankReports& ranks) {
  Json out = head_json(ranks.status);
  out["verdict"] = ranks.verdict;
  out["is_one_run"] = ranks.is_one_run;
  Json findings = Json::array();
  for (const SharedFinding& shared : ranks.findings) {
    Json finding = finding_json(shared.finding);
    finding["found_on"] = shared.found_on;
    findings.push_back(std::move(finding));
  }
  out["findings"] = std::move(findings);
  if (ranks.fleet) out["fleet"] = fleet_json(*ranks.fleet, ranks.replay);
  const std::vector<std::string> labels = report_labels(ranks.reports);
  Json list = Json::array();
  for (std::size_t i = 0; i < ranks.reports.size(); ++i) {
    Json entry = {{"label", labels[i]}};
    entry.update(report_json(ranks.reports[i]));
    list.push_back(std::move(entry));
  }
  for (const UnusableFile& file : ranks.unusable) list.push_back(unusable_json(file));
  out["ranks"] = std::move(list);
  return dump(out);
}

}  // namespace stepscope

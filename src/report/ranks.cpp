// What is common to several reports. Merging the runs themselves is the fleet's work; here each is judged alone.
#include "report/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "report/numbers.h"
#include "report/text.h"

namespace stepscope {
namespace {

// What one would look at first: unreliable recordings, then the largest saving of a fault, then the longest step.
std::tuple<int, double, DurationNs> badness(const Report& report) {
  double saving = 0;
  for (const Finding& finding : report.findings) {
    if (finding.severity == Severity::kFault) saving = std::max(saving, finding.saving_ratio.value_or(0.0));
  }
  return {report.has_headline() ? 0 : 1, saving, report.steps.median_ns.value_or(0)};
}

ReportStatus joint_status(const std::vector<Report>& reports, const std::vector<UnusableFile>& unusable) {
  if (reports.empty()) return ReportStatus::kUnusable;
  const bool partial =
      std::any_of(reports.begin(), reports.end(), [](const Report& r) { return r.status != ReportStatus::kComplete; });
  return partial || !unusable.empty() ? ReportStatus::kPartial : ReportStatus::kComplete;
}

double saving_of(const Finding& finding) { return finding.saving_ratio.value_or(-1.0); }

// One entry for each id, in the order: severity, then saving; those that come first by decree stay first.
std::vector<SharedFinding> share_findings(const std::vector<Report>& reports) {
  std::vector<SharedFinding> shared;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const Finding& finding : reports[i].findings) {
      auto at = std::find_if(shared.begin(), shared.end(),
                             [&](const SharedFinding& s) { return s.finding.id == finding.id; });
      if (at == shared.end()) at = shared.insert(shared.end(), SharedFinding{finding, {}});
      at->reports.push_back(i);
      const bool worse =
          std::tuple(finding.severity, -saving_of(finding)) < std::tuple(at->finding.severity, -saving_of(at->finding));
      if (worse) at->finding = finding;
    }
  }
  auto rank_of = [](const SharedFinding& s) {
    const bool first = s.finding.id == "incomplete-data" || s.finding.id == "launch-blocking";
    return std::tuple(first ? 0 : 1, s.finding.severity, -saving_of(s.finding));
  };
  std::stable_sort(shared.begin(), shared.end(),
                   [&](const SharedFinding& a, const SharedFinding& b) { return rank_of(a) < rank_of(b); });
  return shared;
}

std::string file_name(const Report& report) { return std::filesystem::path(report.info.source).filename().string(); }

std::vector<std::size_t> reports_with(const std::vector<Report>& reports, std::string_view id) {
  std::vector<std::size_t> on;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto& own = reports[i].findings;
    if (std::any_of(own.begin(), own.end(), [id](const Finding& f) { return f.id == id; })) on.push_back(i);
  }
  return on;
}

std::string joint_verdict(const RankReports& ranks, const std::vector<std::string>& labels) {
  if (ranks.reports.empty()) return "None of the files can be used.";
  const auto healthy = std::count_if(ranks.reports.begin(), ranks.reports.end(), [](const Report& r) {
    return r.has_headline() && std::none_of(r.findings.begin(), r.findings.end(),
                                            [](const Finding& f) { return f.severity == Severity::kFault; });
  });
  if (healthy == static_cast<std::ptrdiff_t>(ranks.reports.size())) {
    return fmt::format("No fault in any of the {}.", show_counted(healthy, "recording"));
  }
  return fmt::format("{}: {}", labels.front(), ranks.reports.front().verdict);
}

}  // namespace

std::vector<std::string> report_labels(const std::vector<Report>& reports) {
  std::set<std::int64_t> ranks;
  std::set<std::string> names;
  for (const Report& report : reports) {
    if (report.info.rank) ranks.insert(*report.info.rank);
    names.insert(file_name(report));
  }
  const bool by_rank = ranks.size() == reports.size(), by_name = names.size() == reports.size();
  std::vector<std::string> labels;
  labels.reserve(reports.size());
  for (const Report& report : reports) {
    labels.push_back(by_rank   ? "rank " + std::to_string(*report.info.rank)
                     : by_name ? file_name(report)
                               : report.info.source);
  }
  return labels;
}

bool are_ranks_of_one_run(const std::vector<Report>& reports) {
  std::set<std::int64_t> ranks;
  for (const Report& report : reports) {
    if (!report.info.rank || report.info.world_size != reports.front().info.world_size) return false;
    ranks.insert(*report.info.rank);
  }
  return reports.size() > 1 && ranks.size() == reports.size();
}

RankReports join_reports(std::vector<Report> reports, std::vector<UnusableFile> unusable,
                         std::optional<JointFindings> joint) {
  RankReports ranks;
  std::stable_sort(reports.begin(), reports.end(),
                   [](const Report& a, const Report& b) { return badness(a) > badness(b); });
  ranks.status = joint_status(reports, unusable);
  ranks.reports = std::move(reports);
  ranks.unusable = std::move(unusable);
  if (!joint) {
    ranks.findings = share_findings(ranks.reports);
    ranks.verdict = joint_verdict(ranks, report_labels(ranks.reports));
    return ranks;
  }
  ranks.is_one_run = true;
  for (Finding& finding : joint->findings) {
    std::vector<std::size_t> on = reports_with(ranks.reports, finding.id);
    ranks.findings.push_back({clean_finding(std::move(finding)), std::move(on)});
  }
  ranks.verdict = clean_text(joint->verdict);
  return ranks;
}

}  // namespace stepscope

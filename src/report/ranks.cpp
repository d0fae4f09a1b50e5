// What is common to several reports; and of ranks judged together, what the fleet found, with what the worst rank's own
// report knows about it.
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
std::vector<SharedFinding> share_findings(const std::vector<Report>& reports, const std::vector<std::string>& labels) {
  std::vector<SharedFinding> shared;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const Finding& finding : reports[i].findings) {
      auto at = std::find_if(shared.begin(), shared.end(),
                             [&](const SharedFinding& s) { return s.finding.id == finding.id; });
      if (at == shared.end()) at = shared.insert(shared.end(), SharedFinding{finding, {}});
      at->found_on.push_back(labels[i]);
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

// The rank's own report, where there is one, has what a summary does not keep: places on the timeline, and the gain.
void add_proof(const FleetRank& rank, const std::vector<Report>& reports, Finding& finding) {
  for (const Report& report : reports) {
    if (report.info.source != rank.source || report.info.rank != rank.rank) continue;
    for (const Finding& own : report.findings) {
      if (own.id != finding.id) continue;
      finding.evidence = own.evidence;
      finding.advice = own.advice;
      // Over the ranks less may be saved than that rank alone says.
      const bool is_its_own = own.saving && finding.saving && own.saving->mid_ns == finding.saving->mid_ns;
      if (is_its_own) finding.gain = own.gain;
      finding.saving_as_recorded = own.saving_as_recorded;
    }
    return;
  }
}

std::vector<SharedFinding> share_fleet_findings(FleetAnswer& fleet, const std::vector<Report>& reports) {
  std::vector<SharedFinding> out;
  for (FleetFinding& found : fleet.findings) {
    SharedFinding shared;
    shared.finding = std::move(found.finding);
    if (found.worst) add_proof(fleet.facts.ranks[*found.worst], reports, shared.finding);
    shared.finding = clean_finding(std::move(shared.finding));
    for (const std::size_t row : found.ranks) shared.found_on.push_back(clean_text(fleet.facts.ranks[row].label));
    out.push_back(std::move(shared));
  }
  return out;
}

bool lost_any_rank(const FleetFacts& facts) {
  return std::any_of(facts.ranks.begin(), facts.ranks.end(),
                     [](const FleetRank& rank) { return rank.headline_withheld || rank.lost_count > 0; });
}

std::string joint_verdict(const RankReports& ranks, const std::vector<std::string>& labels) {
  if (ranks.reports.empty()) return "None of the files can be used.";
  const auto healthy = std::count_if(ranks.reports.begin(), ranks.reports.end(), [](const Report& r) {
    return r.has_headline() && std::none_of(r.findings.begin(), r.findings.end(),
                                            [](const Finding& f) { return f.severity == Severity::kFault; });
  });
  if (healthy == static_cast<std::ptrdiff_t>(ranks.reports.size())) {
    if (healthy == 1) return "No fault in the only recording.";
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

RankReports join_reports(std::vector<Report> reports, std::vector<UnusableFile> unusable,
                         std::optional<FleetAnswer> fleet) {
  RankReports ranks;
  std::stable_sort(reports.begin(), reports.end(),
                   [](const Report& a, const Report& b) { return badness(a) > badness(b); });
  ranks.status = joint_status(reports, unusable);
  ranks.reports = std::move(reports);
  ranks.unusable = std::move(unusable);
  if (!fleet) {
    const std::vector<std::string> labels = report_labels(ranks.reports);
    ranks.findings = share_findings(ranks.reports, labels);
    ranks.verdict = joint_verdict(ranks, labels);
    return ranks;
  }
  ranks.is_one_run = fleet->facts.is_one_run();
  const bool has_ranks = !fleet->facts.ranks.empty();
  if (ranks.reports.empty() && has_ranks) ranks.status = ReportStatus::kComplete;
  if (!fleet->facts.unreadable.empty() && has_ranks) ranks.status = ReportStatus::kPartial;
  if (lost_any_rank(fleet->facts) && ranks.status == ReportStatus::kComplete) ranks.status = ReportStatus::kPartial;
  ranks.findings = share_fleet_findings(*fleet, ranks.reports);
  ranks.verdict = clean_text(fleet->verdict);
  ranks.fleet = std::move(fleet->facts);
  ranks.replay = std::move(fleet->replay);
  return ranks;
}

}  // namespace stepscope

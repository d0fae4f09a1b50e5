// Several files, or several ranks in one file: a report each, worst first, and one list of findings over all.
//
// Ranks of one run are judged together by the fleet (fleet/fleet_facts.h), from their summaries; then whole reports of
// single ranks are an addition, kept for up to kMostWholeReports, since a report is a hundred times a summary's size on
// a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/fleet_findings.h"
#include "report/diff_report.h"
#include "report/report.h"

namespace stepscope {

inline constexpr std::size_t kMostWholeReports = 64;

// A finding with the labels of the recordings that have it by themselves; the numbers are those of the worst.
struct SharedFinding {
  Finding finding;
  std::vector<std::string> found_on;
};

struct RankReports {
  ReportStatus status = ReportStatus::kComplete;
  bool is_one_run = false;      // the findings come from looking at all ranks together
  std::vector<Report> reports;  // worst first
  std::vector<UnusableFile> unusable;
  std::vector<SharedFinding> findings;
  std::string verdict;
  std::optional<FleetFacts> fleet;  // with is_one_run
  FleetReplay replay;               // likewise
  // Of two recordings that are no ranks of one run: what the one that was named second has otherwise. For the page.
  std::optional<DiffReport> difference;
  std::size_t row_count = 0;  // --top N: rows of the table of ranks; 0: a screen's worth
};

// "rank 3" where the ranks of all files are known and differ, else the file's name, or its path where names repeat.
[[nodiscard]] std::vector<std::string> report_labels(const std::vector<Report>& reports);

// Without `fleet`, each recording stands for itself: a finding is listed once, with the numbers of its worst.
[[nodiscard]] RankReports join_reports(std::vector<Report> reports, std::vector<UnusableFile> unusable,
                                       std::optional<FleetAnswer> fleet = std::nullopt);

}  // namespace stepscope

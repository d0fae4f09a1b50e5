// Several files, or several ranks in one file: a report each, worst first, and one list of findings over all.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace stepscope {

// A finding with the reports (index into RankReports::reports) it was made on; the numbers are those of the worst.
struct SharedFinding {
  Finding finding;
  std::vector<std::size_t> reports;
};

struct RankReports {
  ReportStatus status = ReportStatus::kComplete;
  bool is_one_run = false;      // the findings come from looking at all ranks together
  std::vector<Report> reports;  // worst first
  std::vector<UnusableFile> unusable;
  std::vector<SharedFinding> findings;
  std::string verdict;
};

// "rank 3" where the ranks of all files are known and differ, else the file's name, or its path where names repeat.
[[nodiscard]] std::vector<std::string> report_labels(const std::vector<Report>& reports);

// What was found by looking at all ranks of one run together (rules/rules.h: find_over_ranks).
struct JointFindings {
  std::vector<Finding> findings;
  std::string verdict;
};

// Every rank is known, no two are equal, and they say to belong to a world of the same size.
[[nodiscard]] bool are_ranks_of_one_run(const std::vector<Report>& reports);

// Without `joint`, each recording stands for itself: a finding is listed once, with the numbers of its worst.
[[nodiscard]] RankReports join_reports(std::vector<Report> reports, std::vector<UnusableFile> unusable,
                                       std::optional<JointFindings> joint = std::nullopt);

}  // namespace stepscope

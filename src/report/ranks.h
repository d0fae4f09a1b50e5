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
  std::vector<Report> reports;  // worst first
  std::vector<UnusableFile> unusable;
  std::vector<SharedFinding> findings;
  std::string verdict;
};

// "rank 3" where the ranks of all files are known and differ, else the file's name.
[[nodiscard]] std::vector<std::string> report_labels(const std::vector<Report>& reports);

[[nodiscard]] RankReports join_reports(std::vector<Report> reports, std::vector<UnusableFile> unusable);

}  // namespace stepscope

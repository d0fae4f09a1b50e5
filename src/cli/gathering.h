// Reading recordings, judging them one by one, and together where they are ranks of one run: what `report` and `view`
// have in common. They differ in what they print.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/reading.h"
#include "report/ranks.h"
#include "report/report.h"

namespace stepscope {

struct GatherRequest {
  std::vector<std::string> files;
  TraceOptions trace;
  std::optional<double> peak_flops_per_s;
  ReportOptions report;          // its `asked` is filled in from `trace`
  OpenedFile* opened = nullptr;  // the only file, if it was opened to see what it is
  unsigned jobs = 0;             // files read at once where none gets a whole report; 0: as many as cores
};

// Would writing `output` destroy one of the files that are read? Also under another name (links).
[[nodiscard]] bool is_input(const std::string& output, const std::vector<std::string>& files);

// All recordings of all files. Whole reports are made of up to kMostWholeReports traces; of more, and of summaries
// (*.sss), there are none, and `run` has everything.
struct Gathered {
  std::vector<Report> reports;
  std::vector<UnusableFile> unusable;
  std::vector<std::int64_t> ranks_seen;
  std::string wrong;  // what was asked does not fit; empty if it does
  // Of every recording: what ranks of one run are judged together by.
  RunSummary run;
  bool is_summarized = false;  // only `run` was made
  std::size_t row_count = 0;   // --top N
  [[nodiscard]] bool is_single() const { return !is_summarized && reports.size() + unusable.size() == 1; }
};

[[nodiscard]] Gathered gather(GatherRequest request);
// One document over all of them.
[[nodiscard]] RankReports join(Gathered gathered);
[[nodiscard]] int exit_code_of(ReportStatus status);

}  // namespace stepscope

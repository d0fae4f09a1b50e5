// The report as text for a terminal or a pipe: first-screen order, then details.
#pragma once

#include <string>

#include "report/page.h"
#include "report/ranks.h"
#include "report/report.h"

namespace stepscope {

// Each string ends with a newline.
[[nodiscard]] std::string write_terminal(const Report& report, const Style& style);
// --finding N: one finding with all its evidence drawn on the timeline. Report::shown_finding is set.
[[nodiscard]] std::string write_terminal_finding(const Report& report, const Style& style);
// Several reports: one row each, worst first, and the findings over all.
[[nodiscard]] std::string write_terminal(const RankReports& ranks, const Style& style);

// Cells of the timeline that fit the width: ReportOptions::excerpt_cell_count.
[[nodiscard]] std::size_t excerpt_cell_count(const Style& style);

}  // namespace stepscope

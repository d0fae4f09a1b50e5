// `stepscope diff` as data, and its outputs: what fleet/difference.h found, with what was typed.
#pragma once

#include <string>
#include <vector>

#include "fleet/difference.h"
#include "report/page.h"
#include "report/report.h"

namespace stepscope {

// Raised when a key of the JSON document changes its meaning or goes away.
inline constexpr int kDiffSchemaVersion = 1;

struct DiffReport {
  RunDifference difference;
  std::vector<std::string> before_files, after_files;  // as typed
  std::size_t table_row_count = 10;
  // Columns of the two recordings that explaining() names, for the HTML page (ReportOptions::page); empty: not drawn.
  std::string before_page, after_page;
  [[nodiscard]] ReportStatus status() const {
    return difference.is_partial ? ReportStatus::kPartial : ReportStatus::kComplete;
  }
};

// Each ends with a newline.
[[nodiscard]] std::string write_diff_text(const DiffReport& report, const Style& style);
[[nodiscard]] std::string write_diff_json(const DiffReport& report);

}  // namespace stepscope

// A page: the built template (web/), the document of the report, and the columns of each recording, in one file.
#pragma once

#include <string>

#include "base/result.h"
#include "report/diff_report.h"
#include "report/memory_report.h"
#include "report/ranks.h"
#include "report/report.h"

namespace stepscope {

// Reports must have their page_data (ReportOptions::page).
[[nodiscard]] std::string write_html(const Report& report);
[[nodiscard]] std::string write_html(const RankReports& ranks);
// Of a memory snapshot alone; `data` from build_memory_page_data.
[[nodiscard]] std::string write_html(const MemoryReport& report, const std::string& data);
// Two runs compared: the document, and both recordings where it has their columns.
[[nodiscard]] std::string write_html(const DiffReport& report);
// To a file of that name, whole or not at all.
[[nodiscard]] Status write_html_file(const std::string& path, const std::string& html);

}  // namespace stepscope

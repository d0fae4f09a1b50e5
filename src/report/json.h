// The JSON document of a report: docs/formats/report.md is its description, goldens in tests/cases its tests.
#pragma once

#include <string>

#include "report/ranks.h"
#include "report/report.h"

namespace stepscope {

// Each ends with a newline. Invalid UTF-8 in names becomes U+FFFD; no number is ever NaN or infinite (null instead).
[[nodiscard]] std::string write_json(const Report& report);
[[nodiscard]] std::string write_json(const UnusableFile& file);
[[nodiscard]] std::string write_json(const RankReports& ranks);

}  // namespace stepscope

// Summaries as bytes: *.sss, versioned (docs/formats/summary.md).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/rank_summary.h"

namespace stepscope {

inline constexpr std::size_t kMaxRankSummaryBytes = 256 * 1024;  // of a file that holds one rank

// The same summary gives the same bytes everywhere.
[[nodiscard]] std::string write_summary(const RunSummary& run);
// `file` is for errors only. Bytes of a newer version, and bytes that are damaged, are an Error: half a run would give
// wrong answers.
[[nodiscard]] Result<RunSummary> read_summary(std::string_view bytes, const std::string& file);
[[nodiscard]] bool is_summary(std::string_view first_bytes);

[[nodiscard]] RunSummary merge_summaries(std::vector<RunSummary> parts);

}  // namespace stepscope

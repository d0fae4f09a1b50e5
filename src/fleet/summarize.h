// From a trace and its facts to the rank's summary.
#pragma once

#include <span>

#include "fleet/rank_summary.h"
#include "rules/finding.h"

namespace stepscope {

[[nodiscard]] RankSummary summarize_trace(const Trace& trace, const Facts& facts, std::span<const Finding> findings,
                                          const std::string& verdict);

}  // namespace stepscope

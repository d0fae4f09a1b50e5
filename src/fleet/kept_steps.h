// Which steps stand for a recording that has more of them than its summary holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fleet/rank_summary.h"

namespace stepscope {

// Which of them stay: all where they are no more than `most`, else so many that are spread over all.
[[nodiscard]] std::vector<bool> spread_steps(std::span<const SummaryStep> steps, std::size_t most);

// Takes out the steps that do not stay, with their collectives and their part of the rows of work, and counts them. The
// replay is as it was.
void keep_steps(RankSummary& summary, const std::vector<bool>& stays);

}  // namespace stepscope

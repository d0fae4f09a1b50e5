// The collectives of a summary: groups, names, and each collective's place in its group and step.
#pragma once

#include <span>

#include "analyze/facts.h"
#include "fleet/rank_summary.h"

namespace stepscope {

// `places`: of each step of the facts, among the summary's steps; behind them for those that are not kept.
// Fills groups, collective_names and collectives of a summary whose steps are made; times get base_ns added. Those
// outside the steps are left out; those in steps that are not kept are counted. Returns the event of each collective.
std::vector<GpuEventId> add_collectives(const Trace& trace, const Facts& facts, std::int64_t base_ns,
                                        std::span<const std::size_t> places, RankSummary& summary);

}  // namespace stepscope

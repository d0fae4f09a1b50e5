// A rank's replay graph, reduced to the points where ranks meet: what all ranks together are replayed from.
//
// The whole graph of a rank has some 40,000 edges, more than its summary may hold. What it does between collectives,
// though, the other ranks see only as "not before": in max-plus algebra each way from one meeting to the next is one
// number, its longest path. Leaving out what another way always outweighs keeps two or three edges a collective. With
// any times of collectives that are not negative the reduced graph gives the times of the whole one, to the nanosecond.
// Keeping only the time between meetings was rejected: it cannot tell a rank that computed from one that waited.
#pragma once

#include <span>

#include "analyze/facts.h"
#include "fleet/rank_summary.h"

namespace stepscope {

// What a summary may spend on it: points and edges as they are kept, before they are packed (docs/formats/summary.md).
// Several steps share the first number. One step alone may take the second, or none of it could be replayed: of 16,384
// collectives, the most that a summary lists, at 39 to 58 bytes each. Whether so much fits the file, fit_summary.h
// says.
struct ReplayBudget {
  std::size_t max_bytes = 64 * 1024;
  std::size_t max_bytes_of_one_step = 1024 * 1024;
};

// `collectives`: the GPU event of each of RankSummary::collectives. `max_steps`: as many as RankSummary::steps has; the
// last ones are left out where the graph would become larger than the budget.
[[nodiscard]] SummaryReplay reduce_replay(const Trace& trace, const Facts& facts,
                                          std::span<const GpuEventId> collectives, std::size_t max_steps,
                                          const ReplayBudget& budget = {});

// How many bytes it takes as variable-length differences.
[[nodiscard]] std::size_t estimate_replay_bytes(const SummaryReplay& replay);

}  // namespace stepscope

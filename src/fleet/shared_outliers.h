// Steps far longer than the others, judged over all ranks: who was slow in them, and who only waited.
#pragma once

#include <vector>

#include "fleet/fleet_facts.h"

namespace stepscope {

// The finding outlier-step of the rank whose own work made its steps long, without what the lateness of others adds.
// Where every rank that has it waited for others, it says so and names no other cause.
[[nodiscard]] SharedRankFinding judge_outliers(const RunSummary& run, const SharedRankFinding& shared,
                                               const FleetFacts& facts);

// By row of facts.ranks: has the rank the finding outlier-step, and waited for another rank in those steps?
[[nodiscard]] std::vector<bool> find_waiting_ranks(const RunSummary& run, const FleetFacts& facts);

}  // namespace stepscope

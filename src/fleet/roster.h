// Which summaries stand for which rank: one for each, the others named.
#pragma once

#include "fleet/fleet_facts.h"

namespace stepscope {

// Fills world_size, ranks (who and where only), missing, doubles, unreadable, without_rank_count and mixed.
void take_roster(const RunSummary& run, FleetFacts& facts);

// Of the rows whose times cannot be true: they judge nobody, so that no sum overflows.
void withhold_damaged(const RunSummary& run, FleetFacts& facts);

}  // namespace stepscope

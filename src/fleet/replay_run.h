// The replay of a run as its summaries are: collectives matched and clocks put on each other as in fleet_facts.h.
#pragma once

#include "fleet/fleet_facts.h"
#include "fleet/fleet_replay.h"

namespace stepscope {

// Asks for the stragglers that the facts name, else for those that the others waited for most.
[[nodiscard]] FleetReplay replay_run(const RunSummary& run, const FleetFacts& facts);

}  // namespace stepscope

// All ranks of a run as JSON: the key "fleet" (docs/formats/report.md).
#pragma once

#include "fleet/fleet_facts.h"
#include "fleet/fleet_replay.h"
#include "report/json_facts.h"

namespace stepscope {

// Raised when a key below "fleet" changes its meaning or goes away; new keys do not raise it.
inline constexpr int kFleetVersion = 1;

[[nodiscard]] Json fleet_json(const FleetFacts& facts, const FleetReplay& replay);

}  // namespace stepscope

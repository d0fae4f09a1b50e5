// What ranks say of their own exposed communication, judged over all of them.
#pragma once

#include <optional>

#include "fleet/fleet_facts.h"
#include "fleet/fleet_replay.h"

namespace stepscope {

struct JudgedExposure {
  SharedRankFinding finding;
  bool is_of_typical = false;  // its title speaks of the typical rank, not of finding.worst
};

// The finding exposed-communication as the run has it: that of the typical rank, or else of the one that has more.
// Missing: over the ranks it is none. Where too little is known of the ranks together it stays as it was found.
[[nodiscard]] std::optional<JudgedExposure> judge_exposure(const SharedRankFinding& shared, const FleetFacts& facts,
                                                           const FleetReplay& replay);

}  // namespace stepscope

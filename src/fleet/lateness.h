// Who waits for whom: own work and waits of each rank in each step.
#pragma once

#include "fleet/clocks.h"

namespace stepscope {

// Fills steps, bandwidths, missing_wait_ns, and of the ranks everything that rests on waits.
void judge_lateness(const Meetings& meetings, const RunClock& clock, FleetFacts& facts);

}  // namespace stepscope

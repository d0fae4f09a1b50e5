// Steps that a rank took longer for because Stepscope stopped it, or another rank of the run: no steps of the program.
//
// A rank alone leaves out the steps in which Stepscope stopped it for longer than a reader would miss
// (analyze/disturbed_steps.h). The others do not know: they wait in a collective for it, and their steps look as if
// that rank had been late. Told by the clock and not by the number of the step, since a rank that is stopped behind its
// last collective keeps the others waiting in their next step.
#pragma once

#include <optional>

#include "fleet/fleet_facts.h"

namespace stepscope {

// Fills facts.stopped_ranks, stopped_steps and stopped_everywhere. `run` without those steps, on all ranks, and without
// replays; missing: there are none, or no two ranks would have a step in common without them.
[[nodiscard]] std::optional<RunSummary> leave_out_stopped_steps(const RunSummary& run, FleetFacts& facts);

// How much of a step of a rank Stepscope stopped that rank itself.
[[nodiscard]] DurationNs own_stop_in(const RankSummary& rank, const SummaryStep& step);

}  // namespace stepscope

// What a rank's own time goes to, and how fast its kernels are, beside the other ranks'.
#pragma once

#include "fleet/fleet_facts.h"

namespace stepscope {

// Fills the ranks' step, busy, exposed communication, compute, memory, parts and first finding.
void measure_ranks(const RunSummary& run, FleetFacts& facts);
// Fills kernel_time_ratio and slowest_class.
void compare_kernels(const RunSummary& run, FleetFacts& facts);
// Fills the spreads and typical_parts_ns.
void spread_over_ranks(FleetFacts& facts);

}  // namespace stepscope

// The recorded process itself without the profiler: its host was as fast as it was, and only what recording cost is in
// doubt, an operator's by 1 us. WhatIfs has the step of any process, whose host may be faster or slower.
//
// Asked only where the profiler may have distorted the step, so the graph is built again instead of being kept.
#pragma once

#include <optional>

#include "analyze/facts.h"

namespace stepscope {

// The median step; missing where the re-simulation is refused.
[[nodiscard]] std::optional<Estimate> estimate_this_run(const Trace& trace, const Facts& facts);

}  // namespace stepscope

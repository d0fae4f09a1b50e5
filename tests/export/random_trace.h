// Traces that no recording has: every column at odd values, equal times everywhere, names made to break writers.
#pragma once

#include <cstdint>

#include "trace/trace.h"

namespace stepscope {

// The same trace for the same seed. Within what an importer can make: times within 142 years, events of no known
// meaning with categories of none, begins without an end behind all others.
[[nodiscard]] Trace random_trace(std::uint32_t seed);

}  // namespace stepscope

// Compute that runs beside a collective is slower than alone: the collective's kernel holds multiprocessors and memory
// bandwidth even while it only waits for other ranks. How much slower, twins tell.
#pragma once

#include "analyze/replay/graph.h"

namespace stepscope {

// By UnitEndId: what the event took longer than its twins without a collective beside them. A twin is the same kernel
// on the same grid, of an operator with the same input shapes; those at the same place in other steps come before those
// elsewhere. 0 where there is no twin or it was no faster.
[[nodiscard]] std::vector<DurationNs> find_contention(const ReplayInput& input, const ReplayGraph& graph);

}  // namespace stepscope

// The host's side of the graph: a chain of points for each thread, tied together where threads hand work over.
//
// Points are the launching, blocking and allocating calls, the step boundaries, and the hand-offs (main stands still
// while a worker runs). Event records and stream waits are no points: nothing waits for the call itself.
#pragma once

#include "analyze/replay/call_index.h"
#include "analyze/replay/window.h"

namespace stepscope {

// Adds nodes, edges, work and steps of all working threads.
void add_host(const ReplayInput& input, const ReplayWindow& window, ReplayGraph& graph, CallIndex& calls);

}  // namespace stepscope

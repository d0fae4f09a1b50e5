// May the replay be believed? Its own error, and what no edge explains.
//
// A replay that keeps the residuals is exact by construction and proves nothing. So the check replays with one latency
// and one gap for all launches and compares the median step with the recorded one.
#pragma once

#include "analyze/replay/profiler_cost.h"
#include "analyze/replay/window.h"

namespace stepscope {

[[nodiscard]] SelfCheck check_replay(const ReplayInput& input, const ReplayWindow& window, const ReplayGraph& graph);
// Share of the sound GPU events of the replayed steps without a launch, the leading run left out.
[[nodiscard]] double unlinked_ratio(const ReplayInput& input, const ReplayGraph& graph);

}  // namespace stepscope

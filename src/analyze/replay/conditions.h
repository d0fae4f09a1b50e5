// What a blocking call waited for: edges from the end of GPU work to the return of the call.
//
// return = max(call + own, condition + tail). A rule that adds the tail only if the condition ended after the call
// began would be truer by a few us, but then a host that arrives earlier could return later, and a what-if that only
// takes work away could make a step longer.
#pragma once

#include "analyze/replay/gpu_units.h"

namespace stepscope {

void add_conditions(const ReplayInput& input, const CallIndex& calls, const UnitIndex& index, ReplayGraph& graph);

}  // namespace stepscope

// Steps in which Stepscope itself stopped the program: they say nothing about it, so they count in no account.
//
// The agent writes down when the program waited for it (base/own_overhead.h), as rows of overhead, which stay in JSON.
// What counts is time in which no GPU worked: a pause of the host behind a long queue of work disturbs a later step, or
// none.
#pragma once

#include "analyze/steps.h"

namespace stepscope {

// Is this row of the trace overhead of ours?
[[nodiscard]] bool is_own_overhead(const Trace& trace, OtherEventId event);

// When the program waited for Stepscope and no GPU worked; in order, disjoint.
[[nodiscard]] IntervalSet find_own_stops(const Trace& trace, const GpuTimeline& timeline);

// Moves them from steps.steps to steps.disturbed. Where every step is one, all stay: some answer with its cause named
// is better than none.
void leave_out_disturbed_steps(const Trace& trace, const GpuTimeline& timeline, Steps& steps);

}  // namespace stepscope

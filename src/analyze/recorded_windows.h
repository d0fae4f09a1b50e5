// Several recorded windows in one capture: nothing is known of the time between them, so nothing may count as idle.
// The same holds where the numbers of the steps jump: work may be recorded there, but of no known step.
//
// `stepscope run --every 100` records three steps of each hundred. Between them the GPU worked all the same; taken as
// idle, a busy training would look 97% idle. Files with one window, or without (all but captures), are left alone.
#pragma once

#include "analyze/step_marks.h"

namespace stepscope {

// A step that a window's end cut is dropped; the last one before a window's end ends alone. Where the recorder lost
// records, its windows leave out the time in which it did: every step that touches it is no whole step. Gives their
// numbers.
std::vector<std::int64_t> cut_marks_at_windows(const Trace& trace, std::vector<StepMark>& marks);

// Fills what the recording skips between the steps of `steps`, whose window is known: `missing` (numbers of which
// nothing else says why they are not there), `unrecorded` and `left_out_host` (from a step that ends alone to the next
// one, and disturbed steps).
void find_gaps(const Trace& trace, Steps& steps);

// The parts of `within` between the end of one window's work and the next window: where no steps are known, or the
// whole file is asked for.
[[nodiscard]] IntervalSet find_between_windows(const Trace& trace, const GpuTimeline& timeline, Interval within);

}  // namespace stepscope

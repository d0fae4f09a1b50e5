// What a change to the replayed run saves, as a range over the guesses of the profiler's cost.
//
// One rule for a single recording's what-ifs and for those of all ranks together, so that the two never differ in how
// sure they are.
#pragma once

#include "analyze/replay/evaluate.h"
#include "analyze/what_if.h"

namespace stepscope {

// The middle guess, with the least and most of all.
[[nodiscard]] Estimate estimate_of(const Lanes& step);
// From the replayed steps to all that they stand for (ReplayWindow::scale).
[[nodiscard]] DurationNs scaled_by(DurationNs length_ns, double scale);
void scale_by(Estimate& estimate, double scale);

// Between the median step before and after the change; never below 0. Savings under 1 ms were uncertain by a third
// wherever truth was measured, so their range is at least that wide.
[[nodiscard]] Estimate saving_between(const Lanes& before, const Lanes& after);

// A saving is a part of the step it is taken from: its high end becomes at most what lies between the ends of the step
// before, which ends at what was recorded, and of the step after. Middles that lie within both keep the order of the
// three.
void cap_saving(Estimate& saving, const Estimate& before, const Estimate& after);

}  // namespace stepscope

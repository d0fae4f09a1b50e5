// Python frames with a beginning and an end, made from stacks that were seen at points.
//
// The capture has a thread's stack where something happened (a launch, a synchronization, an operator, a sample each
// millisecond); every answer that names a line reads Frames, which last. docs/decisions/capture-stacks.md says why
// frames are made here and how far they can be trusted.
//
//   - While an operator or call runs, the frames of its stack are open: it cannot return before they go on.
//   - Between two points at most kHold apart, the frames of the first stay open until the second: what a sampling
//     profiler assumes.
//   - Over longer gaps only frames that stand at the same line in both stacks stay open, and never the innermost of
//     either: it may have returned and been called again.
// A frame's row ends where its line changes: `train.py(52): step`, then `train.py(53): step`.
#pragma once

#include <vector>

#include "base/interval.h"
#include "import/capture/definitions.h"
#include "trace/builder.h"

namespace stepscope::capture_format {

struct StackPoint {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;  // the stack holds until then; == start_ns for a point
  StackNode stack = 0;
};

// Two periods of the sampler: one look may come late, a thread that misses two was not looked at.
inline constexpr DurationNs kHoldNs = 2'000'000;

// Adds the frames of one thread. `points` in any order; they are sorted. Nothing holds across the end of a window.
void add_stack_frames(const Definitions& definitions, std::vector<StackPoint>& points,
                      const std::vector<Interval>& windows, ThreadId thread, Frames& into);

}  // namespace stepscope::capture_format

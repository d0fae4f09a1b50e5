// Where the main thread stands still because another thread works for it.
//
// PyTorch runs the backward pass on a thread of its own; the call that waits for it is no event of the file. It shows
// all the same: main has no event boundary while the worker is active.
#pragma once

#include <span>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

// A stretch in which main stands between two of its event boundaries while `worker` works.
struct Handoff {
  TimeNs start_ns = 0;  // worker's first event
  TimeNs end_ns = 0;    // worker's last event's end
  TimeNs fork_ns = 0;   // main's boundary before; start_ns if there is none
  TimeNs join_ns = 0;   // main's boundary after; end_ns if there is none
  ThreadId worker;
};

// `boundaries`: main's, sorted. Sorted by start; those of different workers may overlap.
[[nodiscard]] std::vector<Handoff> find_handoffs(const Trace& trace, std::span<const ThreadId> workers,
                                                 std::span<const TimeNs> boundaries);

// For each instant the one worker that main waits for: where hand-offs overlap, the one that ends last, since
// main goes on when that one is done. Sorted and disjoint.
struct MainWait {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  ThreadId worker;
};
[[nodiscard]] std::vector<MainWait> resolve_waits(std::span<const Handoff> handoffs);

}  // namespace stepscope

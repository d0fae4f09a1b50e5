// One thread's time, cut into slices labelled by what it did: a linear merge of its operators, spans, Python
// frames and calls.
#pragma once

#include <span>
#include <vector>

#include "analyze/host_label.h"

namespace stepscope {

struct HostSlice {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  HostLabel label = HostLabel::kNoEvent;
  StringId detail;  // name of the event that gave the label (ProfilerStep#N: the first one's); empty for kNoEvent
};

// A thread's slices and, if asked for, the start and end of every event of it.
struct ThreadCut {
  std::vector<HostSlice> slices;   // sorted, disjoint, never empty ones; holes are time without an event
  std::vector<TimeNs> boundaries;  // sorted; may repeat
};

// `more`: rows that are in no table of the thread, sorted by start: the profiler's overhead, inferred checkpoints.
[[nodiscard]] ThreadCut cut_thread(const Trace& trace, const HostNames& names, ThreadId thread,
                                   std::span<const HostSlice> more, bool want_boundaries);

// Did the call return only after its copy had ended (as recorded)? False for calls that copied nothing.
[[nodiscard]] bool outlasted_its_copy(const Trace& trace, CallId call);

}  // namespace stepscope

// How much a stretch of host time did, in launches: whether a first or last piece is a whole step.
//
// A step that was cut by the end of the recording does less than the others, and one that was not ends with the last
// thing that its thread did. Time was rejected as the measure: the last step may wait for the GPU where others ran
// ahead.
#pragma once

#include <vector>

#include "base/interval.h"
#include "trace/trace.h"

namespace stepscope {

class LaunchCounts {
 public:
  // Of all threads.
  [[nodiscard]] static LaunchCounts launches_of(const Trace& trace);
  // Operators, of all threads.
  [[nodiscard]] static LaunchCounts operators_of(const Trace& trace);
  // Launches, and in a trace without any launch the operators of the thread.
  [[nodiscard]] static LaunchCounts launches_or_operators_of(const Trace& trace, ThreadId thread);

  [[nodiscard]] std::int64_t count_in(Interval host) const;
  // Of the piece that has least.
  [[nodiscard]] std::int64_t least_in(const std::vector<Interval>& pieces) const;

 private:
  std::vector<TimeNs> times_;  // sorted
};

// The last thing the thread did in [from, until], its waits for the whole device left out: the profiler makes one when
// it stops. `from` if it did nothing.
[[nodiscard]] TimeNs last_host_event(const Trace& trace, ThreadId thread, TimeNs from, TimeNs until);

}  // namespace stepscope

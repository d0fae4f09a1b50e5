// A recorded trace as the agent would have captured the same run: so that every recording that we have tests captures.
//
// What the agent does not see is left out: event records and other calls that start or wait for nothing, external ids,
// annotations on the GPU, collectives' arguments, flows. Python stacks are there at launches, synchronizations and span
// entries and once a millisecond, not as frames.
#pragma once

#include <string>

#include "trace/trace.h"

namespace stepscope {

struct CaptureOfTrace {
  std::string bytes;  // of the file
  std::size_t event_count = 0;
};
// With `windows` > 1 the run is captured so many times, 10 s and 100 steps apart, as `--every 100` does it.
[[nodiscard]] CaptureOfTrace capture_of_trace(const Trace& trace, int windows = 1);

}  // namespace stepscope

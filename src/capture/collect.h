// From the logs of all threads to a Recording, after the stop. Threads may still be writing; what they publish later is
// not read.
#pragma once

#include <span>

#include "capture/recorder.h"
#include "capture/thread_log.h"
#include "capture/tick_clock.h"

namespace stepscope {

// Fills threads and open_span_count. `recording.end_ns` is set: what ended after it was open at the stop.
void collect_logs(std::span<ThreadLog* const> logs, const TickMapping& mapping, Recording& recording);

}  // namespace stepscope

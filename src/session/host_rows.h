// The records of the program's threads, and the markers of steps, as rows of a Trace.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/recorder.h"
#include "session/build_trace.h"
#include "trace/builder.h"

namespace stepscope {

struct HostTotals {
  std::uint64_t async_without_end_count = 0;
  std::optional<double> flops;  // sum of what operators told, not of those inside such a one; missing when none did
};

// Adds the rows of all threads.
HostTotals add_host_rows(std::vector<ThreadRecords> threads, std::int64_t process_id, TimeNs base_ns, Builder& builder);

// Adds the markers of steps, all on the row of the thread that opened the first, where readers look for them. Those
// that another thread opened or closed become asynchronous spans, since they need not nest there. To be called before
// add_host_rows: among rows of equal times the first is the outer one.
void add_step_marks(std::span<const SessionStep> steps, std::int64_t process_id, TimeNs base_ns, Builder& builder);

}  // namespace stepscope

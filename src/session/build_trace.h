// From what one cycle recorded to a Trace, the same model that a file is read into.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "capture/device_source.h"
#include "capture/recorder.h"
#include "session/run_identity.h"
#include "trace/trace.h"

namespace stepscope {

// The marker of one step, from one step() to the next.
struct SessionStep {
  std::int64_t number = 0;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::int64_t opened_by = 0;  // thread ids
  std::int64_t closed_by = 0;
};

struct CycleRecords {
  Recording host;
  DeviceRecording device;
  std::vector<SessionStep> steps;  // in order
};

struct TraceFlags {
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stack = false;
  bool with_flops = false;
};

struct BuiltTrace {
  Trace trace;
  std::uint64_t open_span_count = 0;  // Recording's, and asynchronous spans whose end did not come
  std::optional<double> flops;  // sum of what operators told, not of those inside such a one; missing when none did
};

// Times of the trace count from the start of the UTC day in which the recording began, which all processes of a run
// share, so that their files can be joined as they are; in us they keep every nanosecond in a double, which times since
// 1970 do not.
[[nodiscard]] BuiltTrace build_trace(CycleRecords records, const RunIdentity& identity, const TraceFlags& flags);

}  // namespace stepscope

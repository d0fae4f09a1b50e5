// A trace: everything one process (or one rank) recorded, as columns on one clock.
//
// Invariants after Builder::finish():
//   - host tables (ops, spans, frames, calls) are sorted by (thread, start_ns, longer first, file order);
//   - gpu_events are sorted by (device, start_ns, end_ns, file order); memory_events by time;
//   - every id column is empty or a valid row; every StringId is valid in `strings`;
//   - end_ns >= start_ns everywhere; times are the file's own (add base_ns for the time since 1970).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/interval.h"
#include "base/string_pool.h"
#include "trace/gpu.h"
#include "trace/notes.h"
#include "trace/ops.h"
#include "trace/places.h"
#include "trace/side_events.h"

namespace stepscope {

// A process group of torch.distributed, as the file lists it (pg_config of distributedInfo): also one that no recorded
// collective belongs to.
struct ProcessGroup {
  std::string name;         // as Collectives::group_name
  std::string description;  // "default_pg", "mesh_tp", "undefined", ...; empty if absent
  std::string backend;      // "cuda:nccl", ...; likewise
  std::optional<std::int64_t> size;
  std::vector<std::int64_t> ranks;  // ascending; empty if unknown
  bool operator==(const ProcessGroup&) const = default;
};

// What the file says about the recording as a whole.
struct TraceInfo {
  std::string source;                      // path, or "standard input"
  std::string producer;                    // importer's name: "chrome-json", ...
  std::uint64_t text_bytes = 0;            // decompressed size read
  std::uint64_t event_count = 0;           // events kept in any table
  std::uint64_t metadata_event_count = 0;  // ph M, empty objects excluded
  std::int64_t base_ns = 0;                // baseTimeNanoseconds; 0 if absent
  std::optional<std::int64_t> rank;        // distributedInfo
  std::optional<std::int64_t> world_size;
  std::string backend;                       // "nccl", ...
  std::vector<ProcessGroup> process_groups;  // in the order of the file
  std::string trace_name;
  std::string host_name;  // empty if absent
  std::optional<std::int64_t> cuda_runtime_version;
  std::optional<std::int64_t> cuda_driver_version;
  std::optional<std::int64_t> cupti_version;
  bool record_shapes = false;
  bool profile_memory = false;
  bool with_stack = false;
  bool with_flops = false;
  bool with_modules = false;
  // Of captures; all empty for other files.
  std::string command_line;
  std::string python_version;
  std::string torch_version;
  std::optional<std::int64_t> process_start_ns;  // since 1970; all windows of a process say the same
  std::vector<Interval> windows;     // what was recorded, in order; nothing is known of the time between them
  std::vector<std::string> remarks;  // what the recorder had to say, in sentences
};

struct Trace {
  StringPool strings;
  TraceInfo info;
  Notes notes;

  Processes processes;
  Threads threads;
  Devices devices;
  Streams streams;
  Ops ops;
  Spans spans;
  Frames frames;
  Calls calls;
  GpuEvents gpu_events;
  Collectives collectives;
  GpuSpans gpu_spans;
  MemoryEvents memory_events;
  Flows flows;
  Counters counters;
  OtherEvents other_events;

  // Row ranges of each thread and device, and the inverse of GpuEvents::call (see Calls::gpu_begin).
  Column<ThreadId, IdRange<OpId>> ops_of_thread;
  Column<ThreadId, IdRange<SpanId>> spans_of_thread;
  Column<ThreadId, IdRange<FrameId>> frames_of_thread;
  Column<ThreadId, IdRange<CallId>> calls_of_thread;
  Column<DeviceId, IdRange<GpuEventId>> gpu_events_of_device;
  std::vector<GpuEventId> gpu_events_by_call;

  Trace() = default;
  Trace(Trace&&) = default;
  Trace& operator=(Trace&&) = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  [[nodiscard]] std::string_view text(StringId id) const { return strings.view(id); }
  // GPU events that `call` launched, in order of start.
  [[nodiscard]] std::span<const GpuEventId> gpu_events_of(CallId call) const {
    return std::span(gpu_events_by_call).subspan(calls.gpu_begin[call], calls.gpu_count[call]);
  }
};

}  // namespace stepscope

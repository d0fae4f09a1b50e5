// What a capture file holds: one struct a record kind, as the agent hands them over and the importer gets them back.
//
// All times are ns since 1970 on one clock of the process (no clock adjustment moves it; device times are converted
// before they come here). Strings, frames and stacks are written once and named by number; number 0 is "none". A
// definition stands before its first use. docs/formats/capture.md draws the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/time.h"

namespace stepscope {

// Numbers local to one capture file.
using WireString = std::uint32_t;  // 0: the empty string
using WireStack = std::uint32_t;   // 0: no stack

// First record of a file.
struct CaptureInfo {
  std::int64_t process_id = 0;
  TimeNs start_ns = 0;                                                 // of the capture
  std::string host_name, command_line, python_version, torch_version;  // empty: unknown or none
  std::string working_directory;                                       // at the start; empty: unknown
  std::string python_path;  // sys.path joined by newlines: readers cut it off file names; empty: unknown
  MaybeInt rank, world_size, local_rank;
  MaybeInt cuda_driver_version, cuda_runtime_version, cupti_version;
  bool records_shapes = false;
  bool records_stacks = false;
  bool records_memory = false;
  bool records_graphs = false;
  bool records_gpu = false;   // CUPTI was attached
  MaybeInt process_start_ns;  // the same in all captures of a process; since format 1.2
};

struct WireStringDefinition {
  WireString id = 0;
  std::string_view text;  // valid during the call
};
struct WireFrameDefinition {
  std::uint32_t id = 0;
  WireString file = 0, function = 0;
  std::uint32_t line = 0;  // 0: unknown
};
// A stack is its innermost frame on top of another stack, so that stacks that share a root share its rows.
struct WireStackDefinition {
  WireStack id = 0;
  WireStack caller = 0;
  std::uint32_t frame = 0;
};
struct WireThread {
  std::int64_t thread_id = 0;  // the kernel's
  WireString name = 0;
};
struct WireDevice {
  std::int32_t number = 0;
  WireString name = 0;
  MaybeInt memory_bytes, sm_count, compute_major, compute_minor;
};

enum class WireOpScope : std::uint8_t { kFunction, kBackward, kUser };

struct WireOp {
  TimeNs start_ns = 0, end_ns = 0;
  std::int64_t thread_id = 0;
  WireString name = 0;
  WireOpScope scope = WireOpScope::kFunction;
  MaybeInt sequence;                                      // autograd's number; missing: not available
  MaybeInt forward_thread;                                // torch's number of the forward thread on backward operators
  WireString shapes = 0, types = 0, concrete_inputs = 0;  // JSON text as in trace/ops.h; 0: not recorded
  WireStack stack = 0;
};

// Labelled spans that are no operators: NVTX ranges, our own library's spans, steps.
enum class WireSpanSource : std::uint8_t { kNvtx, kLibrary, kStep };
struct WireSpan {
  TimeNs start_ns = 0, end_ns = 0;
  std::int64_t thread_id = 0;  // where it began
  WireString name = 0;
  WireSpanSource source = WireSpanSource::kNvtx;
  bool is_async = false;  // may end on another thread: no nesting
  WireStack stack = 0;
};

// Runtime and driver calls: launches, graph launches, copies, sets, synchronizations, allocations.
struct WireCall {
  TimeNs start_ns = 0, end_ns = 0;
  std::int64_t thread_id = 0;
  WireString name = 0;  // cudaLaunchKernel, ...
  std::uint32_t correlation = 0;
  WireStack stack = 0;
  WireString op = 0;  // innermost operator open at its entry, where the operator itself has no record; else 0
};

enum class WireGpuKind : std::uint8_t { kKernel, kCopy, kSet };
struct WireGpuEvent {
  TimeNs start_ns = 0, end_ns = 0;  // as the device gave them; end < start and 0 are kept and noted by the reader
  std::int32_t device = 0;
  std::int64_t stream = 0;
  WireString name = 0;
  WireGpuKind kind = WireGpuKind::kKernel;
  std::uint32_t correlation = 0;
  MaybeInt graph_id, graph_node;
  MaybeInt bytes;  // of copies and sets
  std::int32_t grid_x = 0, grid_y = 0, grid_z = 0, block_x = 0, block_y = 0, block_z = 0;
  std::int32_t registers_count = 0, shared_bytes = 0;
};

// Operator and stack under which a node of a CUDA graph was captured: replayed kernels keep them.
struct WireGraphNode {
  std::int64_t graph_node = 0;
  WireString op = 0;
  WireStack stack = 0;
};

// The device's view of a synchronization.
struct WireSync {
  TimeNs start_ns = 0, end_ns = 0;
  std::int32_t device = 0;
  std::int64_t stream = -1;  // -1: all
  WireString name = 0;       // "Stream Synchronize", ...
  std::uint32_t correlation = 0;
};

// Time that the profiler itself cost (CUPTI's OVERHEAD records).
struct WireOverhead {
  TimeNs start_ns = 0, end_ns = 0;
  std::int64_t thread_id = 0;
  WireString name = 0;
};

// Who tells of an allocation: an allocator of the program (which knows its totals), or CUDA, of a call of the program.
enum class WireMemorySource : std::uint8_t { kAllocator, kCuda };
// What kind of memory CUDA says it is, numbered as CUPTI does; kMapped: cuMemMap and cuMemUnmap, which CUPTI has no
// record of.
enum class WireMemoryKind : std::uint8_t {
  kUnknown,
  kPageable,
  kPinned,
  kDevice,
  kArray,
  kManaged,
  kDeviceStatic,
  kManagedStatic,
  kMapped,
};
struct WireMemory {
  TimeNs time_ns = 0;
  std::int64_t thread_id = 0;  // 0: that of the call with its correlation
  std::uint64_t address = 0;
  std::int64_t bytes = 0;  // > 0 allocated, < 0 freed
  MaybeInt total_allocated_bytes, total_reserved_bytes;
  std::int32_t device_type = 0, device_number = -1;  // as trace/side_events.h
  WireStack stack = 0;
  // Since format 1.1.
  WireMemorySource source = WireMemorySource::kAllocator;
  std::uint32_t correlation = 0;  // of the call that did it; 0: none is known
  WireMemoryKind kind = WireMemoryKind::kUnknown;
  bool is_async = false;  // from a memory pool of a stream (cudaMallocAsync), or given back to one
};

// Levels of a device's memory at a moment, as somebody counted them; what that one does not know is missing. Since
// format 1.1.
enum class WireMemoryLevelSource : std::uint8_t { kPyTorch, kNvml };
struct WireMemoryLevel {
  TimeNs time_ns = 0;
  std::int64_t thread_id = 0;
  std::int32_t device_number = 0;
  WireMemoryLevelSource source = WireMemoryLevelSource::kPyTorch;
  MaybeInt allocated_bytes, reserved_bytes;            // at this moment
  MaybeInt allocated_peak_bytes, reserved_peak_bytes;  // since the last record of this device and source
  MaybeInt process_bytes;                              // what the process uses of the device, in all
  MaybeInt device_used_bytes, device_total_bytes;      // all processes together
};

// The 1 kHz sampler's look at a launching thread.
struct WireSample {
  TimeNs time_ns = 0;
  std::int64_t thread_id = 0;
  WireStack stack = 0;
};

struct WireCounter {
  TimeNs time_ns = 0;
  WireString name = 0;
  double value = 0;
};

// A recorded window: active from start to end.
struct WireWindow {
  TimeNs start_ns = 0, end_ns = 0;
  std::int64_t first_step = -1, last_step = -1;  // -1: no steps known
};

// Counts for one device (-1: the host) so far; the last one of a device holds.
struct WireLedger {
  std::int32_t device = -1;
  std::uint64_t launch_count = 0;     // launch calls seen at entry
  std::uint64_t gpu_event_count = 0;  // records received
  std::uint64_t unmatched_count = 0;  // records without a call seen, calls without a record
  std::uint64_t bad_time_count = 0;   // zero or backward times
  std::uint64_t dropped_by_cupti_count = 0;
  std::uint64_t dropped_by_cap_count = 0;  // rings full, memory or disk cap
  std::uint64_t dropped_host_count = 0;    // operators, spans, calls
};

// Something a reader of the capture should know, in words: "the disk was full", "rival subscriber: ...".
struct WireRemark {
  TimeNs time_ns = 0;
  WireString text = 0;
};

// Last record of a file that was ended in order; a file without it was cut short.
struct WireEnd {
  TimeNs time_ns = 0;
  std::uint64_t dropped_record_count = 0;  // records that found no room in the file (its cap, a full disk)
};

}  // namespace stepscope

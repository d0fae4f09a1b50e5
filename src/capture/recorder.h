// What the program under measurement does, written down from any of its threads at the cost of a few stores.
//
// One recorder a process, as there is one profiler a process: spans are written by code that does not know who listens.
// Each thread writes into chunks of its own (one writer, one reader, no lock); the reader takes what is published while
// threads go on. Off costs one relaxed load and a branch (see stepscope/span.h). Memory is capped: past the cap records
// are dropped and counted, never lost in silence. A thread's log and the bytes in it: capture/thread_log.h.
//
// Times are ns since 1970, from a counter that no clock adjustment moves (TSC where the processor's is invariant, else
// CLOCK_MONOTONIC), tied to CLOCK_REALTIME once, at start (capture/tick_clock.h).
//
// A child that the process forks does not record; it may start a recording of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "capture/names.h"
#include "capture/tick_clock.h"
#include "stepscope/result.h"
#include "stepscope/span.h"

namespace stepscope {

enum class RecordKind : std::uint8_t {
  kSpan,        // label of the user's (user_annotation); nests by time on its thread
  kOp,          // operator (cpu_op), may have details: shapes, types
  kStep,        // ProfilerStep#N
  kAsyncBegin,  // value = id that joins it with its end; start_ns == end_ns
  kAsyncEnd,    // perhaps on another thread
  kCounter,     // value = bits of a double
  kInstant,     // a point with a name
  kAllocation,  // value = bytes (+ allocated, - freed); details hold address, totals, device
};

struct Record {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::int64_t value = 0;
  NameId name;
  std::uint32_t detail = 0;  // row + 1 in ThreadRecords::details; 0: none
  RecordKind kind = RecordKind::kSpan;
};

// What few records carry.
struct RecordDetail {
  std::string shapes;          // JSON text, as `Input Dims` of PyTorch: [[64, 128], [128, 32]]; empty: none
  std::string types;           // JSON text, as `Input type`; empty: none
  std::vector<void*> stack;    // return addresses, innermost first; empty: stacks are off
  const char* file = nullptr;  // of the span's source line; lives as long as the program
  std::uint32_t line = 0;
  std::uint64_t address = 0;                // kAllocation
  std::int64_t total_allocated_bytes = -1;  // after the event; -1: unknown
  std::int64_t total_reserved_bytes = -1;
  std::int32_t device_type = 0;  // 0 CPU, 1 CUDA
  std::int32_t device_number = -1;
  double flops = -1;  // given by the user for an operator; -1: unknown
};

struct ThreadRecords {
  std::int64_t thread_id = 0;         // the kernel's (gettid); used anew after a thread's end, so two may have the same
  std::string thread_name;            // by set_thread_name, else the system's when it first recorded something
  std::vector<Record> records;        // in order of their ends
  std::vector<RecordDetail> details;  // some may be nobody's (of spans that were open at the stop)
  std::uint64_t dropped_count = 0;    // past the memory cap
};

struct RecorderOptions {
  // Of all threads together: 11 million spans. Handing over takes up to 1.7 times as much, for 40 bytes a record.
  std::size_t max_bytes = std::size_t{256} << 20;
  bool record_shapes = false;
  bool record_memory = false;
  bool record_stacks = false;
  bool record_flops = false;
};

// Starts recording. Error (kInvalidArgument) when someone records already. Any thread may start and stop. The first
// start in a program younger than 10 ms waits until it is that old, for the clock.
Status start_recorder(const RecorderOptions& options);
// Stops and hands over what all threads wrote, those that ended meanwhile too. Spans that are open now are left out and
// counted by open_span_count. Error (kInvalidArgument) when nobody records.
struct Recording {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::vector<ThreadRecords> threads;  // those with records or drops, in the order of their first
  std::uint64_t open_span_count = 0;   // asynchronous ones too
  // How much longer the recording was by CLOCK_MONOTONIC than by its own clock: some ppm where both are sound.
  DurationNs clock_drift_ns = 0;
};
Result<Recording> stop_recorder();
// Now, on the recorder's clock; also while nothing records. Each start ties the clock to CLOCK_REALTIME anew, so
// differences are exact within a recording only.
[[nodiscard]] TimeNs recorder_now_ns();
// How that clock maps ticks; for times that were taken as ticks, or by another copy of this code.
[[nodiscard]] TickMapping recorder_clock();
// From now on forks are watched: as watch_ring_forks() of event_ring.h.
void watch_recorder_forks();
// Writes one finished record for the calling thread, if recording (the session's own ProfilerStep spans come this way).
// Its `detail` is not used: it would be a row of nothing.
void write_record(const Record& record);

}  // namespace stepscope

// What lies beside the work: allocator events, flow arrows, counters, and events of no known meaning.
#pragma once

#include "base/string_pool.h"
#include "base/time.h"
#include "trace/ids.h"
#include "trace/table.h"

namespace stepscope {

// Sorted by (time, order in the file).
#define STEPSCOPE_MEMORY_EVENT_COLUMNS(COLUMN)                                               \
  COLUMN(TimeNs, time_ns, "ns on the trace's clock")                                         \
  COLUMN(ThreadId, thread, "always set")                                                     \
  COLUMN(MaybeInt, address, "missing if absent")                                             \
  COLUMN(std::int64_t, bytes, "> 0 allocated, < 0 freed")                                    \
  COLUMN(MaybeInt, total_allocated_bytes, "after this event; missing if absent")             \
  COLUMN(MaybeInt, total_reserved_bytes, "after this event; missing if absent")              \
  COLUMN(std::int32_t, device_type, "0 CPU, 1 CUDA, others as c10::DeviceType numbers them") \
  COLUMN(std::int32_t, device_number, "-1 for the CPU")                                      \
  COLUMN(std::uint64_t, file_order, "byte offset of the event in its file")
STEPSCOPE_TABLE(MemoryEvents, MemoryEventId, STEPSCOPE_MEMORY_EVENT_COLUMNS);

// In the order of the file.
#define STEPSCOPE_FLOW_COLUMNS(COLUMN)                                                          \
  COLUMN(TimeNs, time_ns, "ns on the trace's clock")                                            \
  COLUMN(std::uint64_t, id, "flow number; 0 when it does not fit 64 bits, then see id_text")    \
  COLUMN(StringId, id_text, "the number as text when it is over 64 bits or a word; else empty") \
  COLUMN(StringId, category, "ac2g, fwdbwd, ...")                                               \
  COLUMN(StringId, name, "mostly equal to the category")                                        \
  COLUMN(StringId, process_key, "pid as written")                                               \
  COLUMN(StringId, thread_key, "tid as written")                                                \
  COLUMN(char, phase, "'s' start, 't' step, 'f' finish")
STEPSCOPE_TABLE(Flows, FlowId, STEPSCOPE_FLOW_COLUMNS);

// In the order of the file.
#define STEPSCOPE_COUNTER_COLUMNS(COLUMN)            \
  COLUMN(TimeNs, time_ns, "ns on the trace's clock") \
  COLUMN(StringId, process_key, "pid as written")    \
  COLUMN(StringId, name, "name of the counter")      \
  COLUMN(StringId, series, "key inside args")        \
  COLUMN(double, value, "as written; NaN for a bare word")
STEPSCOPE_TABLE(Counters, CounterId, STEPSCOPE_COUNTER_COLUMNS);

// In the order of the file: `overhead`, `Trace` and instant events, and every category we do not know.
#define STEPSCOPE_OTHER_EVENT_COLUMNS(COLUMN)               \
  COLUMN(TimeNs, start_ns, "ns on the trace's clock")       \
  COLUMN(TimeNs, end_ns, "ns; == start_ns for instants")    \
  COLUMN(StringId, category, "as written; empty if absent") \
  COLUMN(StringId, name, "as written")                      \
  COLUMN(StringId, process_key, "pid as written")           \
  COLUMN(StringId, thread_key, "tid as written")            \
  COLUMN(char, phase, "the ph of the file: X, i, I, R, ...")
STEPSCOPE_TABLE(OtherEvents, OtherEventId, STEPSCOPE_OTHER_EVENT_COLUMNS);

}  // namespace stepscope

// Where things happen: processes and their threads, devices and their streams.
//
// A host row is (process, thread), a GPU row is (device, stream). The two are told apart by the category of
// the event, never by the numbers: files exist in which a CPU process and a GPU share pid 0 and tid 7. Keys are
// text, since pids and tids may be words, 48-bit numbers or -1.
#pragma once

#include "base/string_pool.h"
#include "trace/ids.h"
#include "trace/table.h"

namespace stepscope {

#define STEPSCOPE_PROCESS_COLUMNS(COLUMN)                               \
  COLUMN(StringId, key, "pid as written in the file")                   \
  COLUMN(StringId, name, "from process_name metadata; empty if absent") \
  COLUMN(StringId, labels, "from process_labels metadata; empty if absent")
STEPSCOPE_TABLE(Processes, ProcessId, STEPSCOPE_PROCESS_COLUMNS);

#define STEPSCOPE_THREAD_COLUMNS(COLUMN)              \
  COLUMN(ProcessId, process, "owner; always set")     \
  COLUMN(StringId, key, "tid as written in the file") \
  COLUMN(StringId, name, "from thread_name metadata; empty if absent")
STEPSCOPE_TABLE(Threads, ThreadId, STEPSCOPE_THREAD_COLUMNS);

#define STEPSCOPE_DEVICE_COLUMNS(COLUMN)                                                     \
  COLUMN(std::int64_t, number, "the device's number in its process (args.device, else pid)") \
  COLUMN(StringId, name, "vendor's name, from deviceProperties; empty if absent")            \
  COLUMN(MaybeInt, memory_bytes, "total memory; missing if absent")                          \
  COLUMN(MaybeInt, sm_count, "multiprocessors; missing if absent")                           \
  COLUMN(MaybeInt, compute_major, "compute capability; missing if absent")                   \
  COLUMN(MaybeInt, compute_minor, "compute capability; missing if absent")
STEPSCOPE_TABLE(Devices, DeviceId, STEPSCOPE_DEVICE_COLUMNS);

#define STEPSCOPE_STREAM_COLUMNS(COLUMN)            \
  COLUMN(DeviceId, device, "owner; always set")     \
  COLUMN(StringId, key, "stream number as written") \
  COLUMN(StringId, name, "from thread_name metadata; empty if absent")
STEPSCOPE_TABLE(Streams, StreamId, STEPSCOPE_STREAM_COLUMNS);

}  // namespace stepscope

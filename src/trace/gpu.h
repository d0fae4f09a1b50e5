// GPU activity: kernels, copies and sets (GPU events), collectives, and the marks that lie on GPU rows.
//
// GPU events are sorted by (device, start_ns, end_ns, order in the file). A GPU event is work; annotations,
// synchronization records and overhead rows on GPU rows are not, and stand in GpuSpans.
#pragma once

#include "base/string_pool.h"
#include "base/time.h"
#include "trace/ids.h"
#include "trace/table.h"

namespace stepscope {

enum class GpuEventKind : std::uint8_t { kKernel, kCopy, kSet };

// What is wrong with the times of a GPU event; such events stay in the table and out of sums.
enum class TimeFault : std::uint8_t {
  kNone,
  kBadDuration,  // negative, or so large that the end overflows: end_ns == start_ns here
  kDuplicate,    // the same event (stream, start, duration, name, correlation) came before
};

#define STEPSCOPE_GPU_EVENT_COLUMNS(COLUMN)                                                               \
  COLUMN(TimeNs, start_ns, "ns on the trace's clock")                                                     \
  COLUMN(TimeNs, end_ns, "ns as recorded; >= start_ns")                                                   \
  COLUMN(DeviceId, device, "always set")                                                                  \
  COLUMN(StreamId, stream, "always set")                                                                  \
  COLUMN(StringId, name, "kernel name, `Memcpy HtoD (Pinned -> Device)`, `Memset (Device)`")              \
  COLUMN(GpuEventKind, kind, "always set")                                                                \
  COLUMN(TimeFault, fault, "kNone for a sound event")                                                     \
  COLUMN(MaybeInt, correlation, "number of the call that launched it; missing if absent")                 \
  COLUMN(MaybeInt, external_id, "external_id of the operator; missing if absent")                         \
  COLUMN(MaybeInt, process_hint, "pid of the launching process where the event names one; else missing")  \
  COLUMN(MaybeInt, graph_id, "CUDA graph it was replayed from; missing if absent")                        \
  COLUMN(StringId, op_name, "operator its graph node was captured under, or that has no row; else empty") \
  COLUMN(StringId, call_stack, "its Python stack likewise, as Ops::call_stack; empty if absent")          \
  COLUMN(MaybeInt, bytes, "moved or set; missing for kernels")                                            \
  COLUMN(std::int32_t, grid_x, "blocks; 0 if not recorded")                                               \
  COLUMN(std::int32_t, grid_y, "blocks; 0 if not recorded")                                               \
  COLUMN(std::int32_t, grid_z, "blocks; 0 if not recorded")                                               \
  COLUMN(std::int32_t, block_x, "threads; 0 if not recorded")                                             \
  COLUMN(std::int32_t, block_y, "threads; 0 if not recorded")                                             \
  COLUMN(std::int32_t, block_z, "threads; 0 if not recorded")                                             \
  COLUMN(std::int32_t, registers_count, "registers a thread; 0 if not recorded")                          \
  COLUMN(std::int32_t, shared_bytes, "shared memory a block; 0 if not recorded")                          \
  COLUMN(std::int16_t, occupancy_percent, "est. achieved occupancy; -1 if not recorded")                  \
  COLUMN(CollectiveId, collective, "its row in Collectives; empty if it carries no such arguments")       \
  COLUMN(std::uint64_t, file_order, "byte offset of the event in its file")                               \
  COLUMN(CallId, call, "linked: the call that launched it; empty if unlinked")                            \
  COLUMN(OpId, op, "linked: operator by external_id, else the call's operator; empty if none")
STEPSCOPE_TABLE(GpuEvents, GpuEventId, STEPSCOPE_GPU_EVENT_COLUMNS);

#define STEPSCOPE_COLLECTIVE_COLUMNS(COLUMN)                                  \
  COLUMN(StringId, name, "allreduce, _allgather_base, ...")                   \
  COLUMN(StringId, dtype, "Float, BFloat16, ...; empty if absent")            \
  COLUMN(MaybeInt, in_count, "elements sent by this rank; missing if absent") \
  COLUMN(MaybeInt, out_count, "elements received; missing if absent")         \
  COLUMN(MaybeInt, group_size, "ranks in the group; missing if absent")       \
  COLUMN(StringId, group_name, "process group; empty if absent")              \
  COLUMN(StringId, group_ranks, "JSON text of the rank list; empty if absent")
STEPSCOPE_TABLE(Collectives, CollectiveId, STEPSCOPE_COLLECTIVE_COLUMNS);

#define STEPSCOPE_GPU_SPAN_COLUMNS(COLUMN)                                                         \
  COLUMN(TimeNs, start_ns, "ns on the trace's clock")                                              \
  COLUMN(TimeNs, end_ns, "ns; >= start_ns")                                                        \
  COLUMN(DeviceId, device, "always set")                                                           \
  COLUMN(StreamId, stream, "always set")                                                           \
  COLUMN(StringId, category, "gpu_user_annotation, cuda_sync, cuda_event, or a module row of JAX") \
  COLUMN(StringId, name, "as in the file")                                                         \
  COLUMN(MaybeInt, correlation, "missing if absent")                                               \
  COLUMN(MaybeInt, external_id, "missing if absent")                                               \
  COLUMN(std::uint64_t, file_order, "byte offset of the event in its file")
STEPSCOPE_TABLE(GpuSpans, GpuSpanId, STEPSCOPE_GPU_SPAN_COLUMNS);

}  // namespace stepscope

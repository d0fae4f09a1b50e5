// Host activity of a program: operators, labelled spans, Python frames, runtime and driver calls.
//
// All four tables are sorted by (thread, start_ns, longer first, order in the file), so the rows of a thread
// are one range (Trace::rows_of) and a walk over it meets parents before children.
#pragma once

#include "base/string_pool.h"
#include "base/time.h"
#include "trace/ids.h"
#include "trace/table.h"

namespace stepscope {

#define STEPSCOPE_OP_COLUMNS(COLUMN)                                                                        \
  COLUMN(TimeNs, start_ns, "ns on the trace's clock")                                                       \
  COLUMN(TimeNs, end_ns, "ns; >= start_ns")                                                                 \
  COLUMN(ThreadId, thread, "always set")                                                                    \
  COLUMN(StringId, name, "aten::mm and the like")                                                           \
  COLUMN(MaybeInt, external_id, "number that calls and GPU events carry; missing if absent")                \
  COLUMN(MaybeInt, sequence, "autograd sequence number joining forward and backward; missing if absent")    \
  COLUMN(MaybeInt, forward_thread, "profiler's number of the forward thread, > 0 on backward ops; missing") \
  COLUMN(StringId, shapes, "JSON text of `Input Dims`; empty if shapes were not recorded")                  \
  COLUMN(StringId, types, "JSON text of `Input type`; empty if not recorded")                               \
  COLUMN(StringId, concrete_inputs, "JSON text of `Concrete Inputs`; empty if not recorded")                \
  COLUMN(StringId, call_stack, "`Call stack` of old files, innermost first, joined by ;; empty if absent")  \
  COLUMN(MaybeInt, flops, "what one call computes, as the program told (OpSpan); missing if it did not")    \
  COLUMN(std::uint64_t, file_order, "byte offset of the event in its (decompressed) file")                  \
  COLUMN(OpId, parent, "linked: innermost op of the thread that wholly contains this one; empty at the top")
STEPSCOPE_TABLE(Ops, OpId, STEPSCOPE_OP_COLUMNS);

#define STEPSCOPE_SPAN_COLUMNS(COLUMN)                                                                      \
  COLUMN(TimeNs, start_ns, "ns on the trace's clock")                                                       \
  COLUMN(TimeNs, end_ns, "ns; >= start_ns")                                                                 \
  COLUMN(ThreadId, thread, "always set")                                                                    \
  COLUMN(StringId, name, "label the user gave, or ProfilerStep#N, Optimizer.step#...")                      \
  COLUMN(MaybeInt, external_id, "missing if absent")                                                        \
  COLUMN(MaybeInt, step_number, "JAX's step_num argument; missing if absent")                               \
  COLUMN(std::uint8_t, is_async, "1 if begun and ended by separate events, perhaps on two threads; else 0") \
  COLUMN(StringId, call_stack, "as that of an operator; empty if absent")                                   \
  COLUMN(std::uint64_t, file_order, "byte offset of the event in its file")
STEPSCOPE_TABLE(Spans, SpanId, STEPSCOPE_SPAN_COLUMNS);

#define STEPSCOPE_FRAME_COLUMNS(COLUMN)                                                          \
  COLUMN(TimeNs, start_ns, "ns on the trace's clock")                                            \
  COLUMN(TimeNs, end_ns, "ns; >= start_ns")                                                      \
  COLUMN(ThreadId, thread, "always set")                                                         \
  COLUMN(StringId, name, "`file.py(line): function`, `nn.Module: Linear_0` or `<built-in ...>`") \
  COLUMN(MaybeInt, python_id, "missing if absent")                                               \
  COLUMN(MaybeInt, python_parent_id, "missing at the root")                                      \
  COLUMN(std::uint64_t, file_order, "byte offset of the event in its file")                      \
  COLUMN(FrameId, parent, "linked: innermost frame of the thread that contains this one")
STEPSCOPE_TABLE(Frames, FrameId, STEPSCOPE_FRAME_COLUMNS);

// What a runtime or driver call does, from its name (classify_api in trace/api_kind.h).
enum class ApiKind : std::uint8_t {
  kLaunch,       // launches one kernel
  kGraphLaunch,  // launches a graph: many GPU events, one correlation
  kCopy,
  kSet,
  kStreamSync,
  kEventSync,
  kDeviceSync,
  kAllocate,  // device or pinned memory
  kFree,      // device memory; waits for the device
  kEventRecord,
  kStreamWait,  // a stream waits for an event
  kModuleLoad,  // code loaded, linked or compiled
  kOther,
};

#define STEPSCOPE_CALL_COLUMNS(COLUMN)                                                                      \
  COLUMN(TimeNs, start_ns, "ns on the trace's clock")                                                       \
  COLUMN(TimeNs, end_ns, "ns; >= start_ns")                                                                 \
  COLUMN(ThreadId, thread, "always set")                                                                    \
  COLUMN(StringId, name, "cudaLaunchKernel, hipMemcpyAsync, ...")                                           \
  COLUMN(ApiKind, kind, "linked: from the name, or kLaunch where GPU events say so")                        \
  COLUMN(MaybeInt, correlation, "number its GPU events carry; missing if absent")                           \
  COLUMN(MaybeInt, external_id, "external_id of its operator; missing if absent")                           \
  COLUMN(std::uint64_t, file_order, "byte offset of the event in its file")                                 \
  COLUMN(OpId, op, "linked: innermost operator of the thread that is open at its start; empty if none")     \
  COLUMN(OpId, op_by_external_id, "linked: the operator that has its external_id; empty if none")           \
  COLUMN(std::uint32_t, gpu_begin, "linked: its GPU events are Trace::gpu_events_by_call[begin .. +count)") \
  COLUMN(std::uint32_t, gpu_count, "linked: 0 for calls that launched nothing or whose events are lost")
STEPSCOPE_TABLE(Calls, CallId, STEPSCOPE_CALL_COLUMNS);

}  // namespace stepscope

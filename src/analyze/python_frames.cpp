// See python_frames.h.
#include "analyze/python_frames.h"

namespace stepscope {

namespace {

template <class IdType>
Column<IdType, FrameId> frames_around(const Trace& trace, const Column<IdType, TimeNs>& start_ns,
                                      const Column<ThreadId, IdRange<IdType>>& rows_of_thread) {
  Column<IdType, FrameId> out;
  out.raw().resize(start_ns.size());
  for (const ThreadId thread : trace.threads.ids().ids()) {
    if (trace.frames_of_thread[thread].empty()) continue;
    FrameCursor cursor(trace, thread);
    for (const IdType row : rows_of_thread[thread].ids()) out[row] = cursor.innermost(start_ns[row]);
  }
  return out;
}

}  // namespace

Column<OpId, FrameId> compute_operator_frames(const Trace& trace) {
  return frames_around(trace, trace.ops.start_ns, trace.ops_of_thread);
}

Column<CallId, FrameId> compute_call_frames(const Trace& trace) {
  return frames_around(trace, trace.calls.start_ns, trace.calls_of_thread);
}

}  // namespace stepscope

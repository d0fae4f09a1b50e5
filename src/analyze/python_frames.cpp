// See python_frames.h.
#include "analyze/python_frames.h"

namespace stepscope {

Column<OpId, FrameId> compute_operator_frames(const Trace& trace) {
  Column<OpId, FrameId> out;
  out.raw().resize(trace.ops.start_ns.size());
  for (const ThreadId thread : trace.threads.ids().ids()) {
    if (trace.frames_of_thread[thread].empty()) continue;
    FrameCursor cursor(trace, thread);
    for (const OpId op : trace.ops_of_thread[thread].ids()) out[op] = cursor.innermost(trace.ops.start_ns[op]);
  }
  return out;
}

}  // namespace stepscope

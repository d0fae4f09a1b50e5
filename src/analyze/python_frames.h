// Which Python frame stands around an instant of a thread.
//
// Frames nest properly in their own table (Frames::parent), so the innermost frame around a time is the last one
// that began before it, or the nearest of its parents that has not ended. Asked in order of time, a cursor
// finds it without a search.
#pragma once

#include "trace/trace.h"

namespace stepscope {

class FrameCursor {
 public:
  FrameCursor(const Trace& trace, ThreadId thread)
      : frames_(trace.frames), next_(trace.frames_of_thread[thread].begin), end_(trace.frames_of_thread[thread].end) {}

  // The innermost frame with start <= time < end; empty when there is none. Times must not decrease: what has ended
  // stays ended, so each frame is entered and left once, however deep they nest.
  FrameId innermost(TimeNs time_ns) {
    for (; next_ < end_ && frames_.start_ns[FrameId(next_)] <= time_ns; ++next_) current_ = FrameId(next_);
    while (current_.has_value() && frames_.end_ns[current_] <= time_ns) current_ = frames_.parent[current_];
    return current_;
  }

 private:
  const Frames& frames_;
  std::uint32_t next_, end_;
  FrameId current_;
};

// "nn.Module: Linear_0": the frame that with_stack and with_modules record around a module's call.
[[nodiscard]] inline bool is_module_frame_name(std::string_view name) { return name.starts_with("nn.Module: "); }

// The innermost frame around the start of each operator and of each call; empty ids where there is none.
[[nodiscard]] Column<OpId, FrameId> compute_operator_frames(const Trace& trace);
[[nodiscard]] Column<CallId, FrameId> compute_call_frames(const Trace& trace);

}  // namespace stepscope

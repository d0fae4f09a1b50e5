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
      : frames_(trace.frames), at_(trace.frames_of_thread[thread].begin), range_(trace.frames_of_thread[thread]) {}

  // The innermost frame with start <= time < end; empty when there is none. Times must not decrease.
  FrameId innermost(TimeNs time_ns) {
    while (at_ < range_.end && frames_.start_ns[FrameId(at_)] <= time_ns) ++at_;
    if (at_ == range_.begin) return {};
    FrameId frame(at_ - 1);
    while (frame.has_value() && frames_.end_ns[frame] <= time_ns) frame = frames_.parent[frame];
    return frame;
  }

 private:
  const Frames& frames_;
  std::uint32_t at_;
  IdRange<FrameId> range_;
};

// "nn.Module: Linear_0": the frame that with_stack and with_modules record around a module's call.
[[nodiscard]] inline bool is_module_frame_name(std::string_view name) { return name.starts_with("nn.Module: "); }

// The innermost frame around the start of each operator; empty ids where there is none.
[[nodiscard]] Column<OpId, FrameId> compute_operator_frames(const Trace& trace);

}  // namespace stepscope

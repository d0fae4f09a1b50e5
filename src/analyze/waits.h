// Blocking calls: what each waited for, whether it stands in mid-step, and which operator and Python line made it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/host_path.h"

namespace stepscope {

enum class WaitKind : std::uint8_t { kStream, kEvent, kDevice, kFree, kCopy };
[[nodiscard]] std::string_view wait_kind_name(WaitKind kind);

struct Wait {
  CallId call;
  WaitKind kind = WaitKind::kStream;
  std::optional<GpuEventId> condition;  // the GPU event it waited for, as inferred (findings.md section 2)
  bool blocked = false;                 // the condition ended after the call began
  std::optional<std::size_t> step;      // index into Steps::steps, by host time
  double launches_to_come_ratio = 0;    // share of the step's launches that come after the call returned
  bool in_loader_or_checkpoint = false;
  bool after_pageable_copy = false;  // the wait of a pageable host-to-device copy just before it
  // Blocked in mid-step (>= 5% of the launches to come), not loader, checkpoint, free, or pageable copy.
  [[nodiscard]] bool hidden() const {
    return blocked && step && launches_to_come_ratio >= 0.05 && !in_loader_or_checkpoint && !after_pageable_copy &&
           (kind == WaitKind::kStream || kind == WaitKind::kEvent || kind == WaitKind::kDevice);
  }
};

// In order of (thread, start).
[[nodiscard]] std::vector<Wait> compute_waits(const Trace& trace, const GpuTimeline& timeline, const Steps& steps,
                                              const HostPath& path);

// Where a host instant is: labels for people.
struct HostPlace {
  std::string spans;        // "ProfilerStep#4 > forward", outermost first; empty if none
  std::string operators;    // "aten::item > aten::_local_scalar_dense"; empty if none
  std::string python_line;  // innermost frame of the user's own code, as recorded, "train.py(52): hook"; empty if none
};
[[nodiscard]] HostPlace find_host_place(const Trace& trace, ThreadId thread, TimeNs time_ns);
// The innermost frame of the user's own code that is open then; empty without frames.
[[nodiscard]] FrameId find_user_frame(const Trace& trace, ThreadId thread, TimeNs time_ns);
// Is the frame the user's own (not torch, site-packages, the standard library or a built-in)?
[[nodiscard]] bool is_user_frame(std::string_view frame_name);

}  // namespace stepscope

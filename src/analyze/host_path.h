// What the host was doing at each instant on the path that leads to a launch (findings.md section 1).
//
// A thread's time is cut into slices, each labelled by the innermost event (a data-loader or checkpoint span
// anywhere in the stack wins). Walking back from a launch, the path changes threads where one waits for another:
// the main thread stands still while the autograd thread works.
#pragma once

#include <string_view>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

// The words of idle_by_cause_ns, in this order. The last five are no host work.
enum class HostLabel : std::uint8_t {
  kDataLoader,
  kCheckpoint,
  kAllocator,        // allocation and free calls of the runtime
  kSynchronization,  // stream, event and device synchronization
  kBlockingCopy,     // a copy call that returned after its copy had ended
  kOptimizer,        // host work inside Optimizer.step
  kOperator,         // inside an operator, no call
  kPython,           // inside a Python frame or a span only
  kLaunch,           // inside launch calls
  kOtherApi,
  kProfiler,       // the profiler's own overhead rows
  kNoEvent,        // host, no event
  kLaunchLatency,  // edges view: between the launch call and the GPU's start
  kKernelGap,      // the GPU itself waited: dependency, stream wait, scheduling
  kUnlinked,       // the event that ends the gap has no known launch
};
inline constexpr std::size_t kHostLabelCount = 15;
[[nodiscard]] std::string_view host_label_name(HostLabel label);  // "data_loader", ...

struct HostSlice {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  HostLabel label = HostLabel::kNoEvent;
  StringId detail;  // name of the event that gave the label; empty for kNoEvent
};

struct PathPart {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  ThreadId thread;
};

// A stretch in which main stands between two of its event boundaries while `worker` works.
struct Handoff {
  TimeNs start_ns = 0;  // worker's first event
  TimeNs end_ns = 0;    // worker's last event's end
  TimeNs fork_ns = 0;   // main's boundary before
  TimeNs join_ns = 0;   // main's boundary after
  ThreadId worker;
};

class HostPath {
 public:
  // Cuts every thread that launches work (and the main thread) into slices; finds the hand-offs.
  static HostPath build(const Trace& trace, const Steps& steps);

  // Labelled slices that cover [start, end) of a thread without holes, in order.
  void slices(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<HostSlice>& out) const;
  // The path that ends on `thread` at end_ns, back to start_ns; parts in order of time, covering it exactly.
  void path(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<PathPart>& out) const;

  [[nodiscard]] const std::vector<Handoff>& handoffs() const { return handoffs_; }  // sorted by start
  [[nodiscard]] const std::vector<ThreadId>& working_threads() const {
    return working_;
  }  // launch work or run autograd, and main
  [[nodiscard]] ThreadId main_thread() const { return main_; }
  [[nodiscard]] const std::vector<HostSlice>& all_slices(
      ThreadId thread) const;  // sorted, disjoint; empty for threads that do not work

 private:
  ThreadId main_;
  std::vector<ThreadId> working_;
  std::vector<Handoff> handoffs_;
  Column<ThreadId, std::vector<HostSlice>> slices_;
};

}  // namespace stepscope

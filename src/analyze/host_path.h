// What the host was doing at each instant on the path that leads to a launch (findings.md section 1).
//
// A thread's time is cut into slices, each labelled by the innermost event (a data-loader or checkpoint span
// anywhere in the stack wins). Walking back from a launch, the path changes threads where one waits for another:
// the main thread stands still while the autograd thread works.
#pragma once

#include <string_view>
#include <vector>

#include "analyze/handoffs.h"
#include "analyze/host_label.h"
#include "analyze/host_slices.h"
#include "analyze/steps.h"

namespace stepscope {

struct PathPart {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  ThreadId thread;
};

class HostPath {
 public:
  // Cuts every thread that launches work (and the main thread) into slices; finds the hand-offs.
  static HostPath build(const Trace& trace, const Steps& steps);

  // Where the last look-up ended: queries that move along in time cost a few steps instead of a bisection of millions.
  // One for each thread of execution that asks.
  struct Cursor {
    Column<ThreadId, std::size_t> slice;
    std::size_t wait = 0;
  };
  [[nodiscard]] Cursor cursor() const;

  // Appends labelled slices that cover [start, end) of a thread without holes, in order.
  void slices(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<HostSlice>& out) const;
  void slices(Cursor& at, ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<HostSlice>& out) const;
  // Appends the path that ends on `thread` at end_ns, back to start_ns; parts in order of time, covering it exactly.
  void path(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<PathPart>& out) const;
  void path(Cursor& at, ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<PathPart>& out) const;
  // What `thread` did at an instant.
  [[nodiscard]] HostLabel label_at(ThreadId thread, TimeNs time_ns) const;

  [[nodiscard]] const std::vector<Handoff>& handoffs() const { return handoffs_; }  // sorted by start
  // Those that launch work or run autograd, and main; sorted.
  [[nodiscard]] const std::vector<ThreadId>& working_threads() const { return working_; }
  [[nodiscard]] ThreadId main_thread() const { return main_; }
  // Sorted, disjoint, with holes where there is no event; empty for threads that do not work.
  [[nodiscard]] const std::vector<HostSlice>& all_slices(ThreadId thread) const;

 private:
  void slices_from(std::size_t& hint, ThreadId thread, TimeNs start_ns, TimeNs end_ns,
                   std::vector<HostSlice>& out) const;

  ThreadId main_;
  std::vector<ThreadId> working_;
  std::vector<Handoff> handoffs_;
  std::vector<MainWait> waits_;
  Column<ThreadId, std::vector<TimeNs>> handoff_starts_;  // of each worker, sorted
  Column<ThreadId, std::vector<HostSlice>> slices_;
};

}  // namespace stepscope

// From a call of the replayed window to its nodes in the graph.
#pragma once

#include "analyze/replay/graph.h"

namespace stepscope {

// The nodes of a call: its start and its return. A call nested in another shares that one's.
struct CallNodes {
  NodeId start;
  NodeId returned;
  WorkId own;                // its kWork edge's work; empty for a nested call
  std::size_t own_edge = 0;  // that edge, until number_nodes()
};

// Nodes by call, for the calls of the window only: a thread's rows are contiguous.
class CallIndex {
 public:
  explicit CallIndex(const Trace& trace) : trace_(&trace) {}
  void add_thread(ThreadId thread, IdRange<CallId> calls);
  // Missing for calls outside the window and for kinds that are no points.
  [[nodiscard]] const CallNodes* find(CallId call) const;
  void set(CallId call, const CallNodes& nodes);

 private:
  struct Slot {
    IdRange<CallId> calls;
    std::size_t first = 0;
  };
  [[nodiscard]] std::size_t at(CallId call) const;  // npos when outside
  const Trace* trace_;
  std::vector<Slot> by_thread_;
  std::vector<CallNodes> nodes_;
};

// The calls of a thread that start in the window.
[[nodiscard]] IdRange<CallId> calls_of_window(const Trace& trace, ThreadId thread, Interval window);

}  // namespace stepscope

// The GPU's side of the graph: units of work in order, chained by stream, tied to their launch calls.
#pragma once

#include "analyze/replay/call_index.h"
#include "analyze/replay/window.h"

namespace stepscope {

// Creates the units of the window with their start and end nodes and kDuration edges, in order of (device, start).
// Work launched before the window and still running is kept, fixed in time, since the window's work waits for it.
void add_units(const ReplayInput& input, const ReplayWindow& window, const CallIndex& calls, ReplayGraph& graph);

// From a call to its unit, and from a GPU event to the unit's end on that event's stream.
class UnitIndex {
 public:
  explicit UnitIndex(const ReplayGraph& graph);
  [[nodiscard]] UnitId find(CallId call) const;                                  // empty if none
  [[nodiscard]] UnitEndId find_end(const Trace& trace, GpuEventId event) const;  // likewise

 private:
  const ReplayGraph* graph_;
  std::vector<std::pair<CallId, UnitId>> by_call_;  // sorted
};

// A unit that has to wait for the end of another on a different stream.
struct UnitDependency {
  UnitId unit;
  UnitEndId on;
};

// Adds the edges into each unit's start; what they leave unexplained goes to the edge that binds.
// `dependencies` are sorted by unit.
void add_start_edges(const ReplayInput& input, const CallIndex& calls, const std::vector<UnitDependency>& dependencies,
                     ReplayGraph& graph);

}  // namespace stepscope

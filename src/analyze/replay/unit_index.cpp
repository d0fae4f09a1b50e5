// A sorted list and binary search: built once, and looked up a few thousand times.
#include <algorithm>

#include "analyze/replay/gpu_units.h"

namespace stepscope {

UnitIndex::UnitIndex(const ReplayGraph& graph) : graph_(&graph) {
  for (std::uint32_t u = 0; u < graph.units.size(); ++u) {
    if (graph.units[UnitId(u)].call.has_value()) by_call_.push_back({graph.units[UnitId(u)].call, UnitId(u)});
  }
  std::sort(by_call_.begin(), by_call_.end());
}

UnitId UnitIndex::find(CallId call) const {
  const auto at = std::lower_bound(by_call_.begin(), by_call_.end(), std::pair(call, UnitId(0)));
  return at != by_call_.end() && at->first == call ? at->second : UnitId();
}

UnitEndId UnitIndex::find_end(const Trace& trace, GpuEventId event) const {
  const UnitId unit = trace.gpu_events.call[event].has_value() ? find(trace.gpu_events.call[event]) : UnitId();
  if (!unit.has_value()) return {};
  for (const UnitEndId end : graph_->ends_of(graph_->units[unit]).ids()) {
    if (graph_->ends[end].stream == trace.gpu_events.stream[event]) return end;
  }
  return {};
}

}  // namespace stepscope

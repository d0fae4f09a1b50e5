// Order matters: units need the calls' nodes, dependencies need units, start edges need dependencies.
#include "analyze/replay/build_graph.h"

#include <algorithm>

#include "analyze/replay/conditions.h"
#include "analyze/replay/gpu_units.h"
#include "analyze/replay/host_points.h"
#include "analyze/replay/stream_dependencies.h"

namespace stepscope {
namespace {

// In the first recorded step the GPU may still be at work that is not in the file: then the boundary is the start of
// the step's first GPU event (see steps.h).
NodeId find_first_boundary(const ReplayGraph& graph, const ReplayWindow& window) {
  TimeNs usual_ns = window.cut_ns.front();
  for (const GpuUnit& unit : graph.units.raw()) {
    if (unit.is_before) usual_ns = std::max(usual_ns, unit.end_ns);
  }
  if (window.first_boundary_ns <= usual_ns) return {};
  for (const GpuUnit& unit : graph.units.raw()) {
    if (unit.start_ns == window.first_boundary_ns) return unit.start;
  }
  return {};
}

}  // namespace

BuiltGraph build_replay_graph(const ReplayInput& input, const ReplayWindow& window) {
  BuiltGraph built;
  ReplayGraph& graph = built.graph;
  CallIndex calls(input.trace);
  graph.steps = window.steps;
  graph.origin_ns = window.host.start_ns;
  add_host(input, window, graph, calls);
  add_units(input, window, calls, graph);
  if (graph.units.empty()) {
    built.refused = "no GPU event belongs to the steps";
    return built;
  }
  const UnitIndex index(graph);
  add_start_edges(input, calls, find_stream_dependencies(input, window, graph, index), graph);
  add_conditions(input, calls, index, graph);
  graph.first_gpu = find_first_boundary(graph, window);
  if (!number_nodes(graph)) built.refused = "launches, GPU events and waits contradict each other";
  return built;
}

}  // namespace stepscope

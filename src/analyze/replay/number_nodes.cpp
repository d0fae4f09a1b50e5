// Topological numbering (Kahn's algorithm with a plain queue) and grouping of edges by target.
//
// Sorting by recorded time would nearly do, but a GPU event may start before its launch call by the clocks, and ties
// are common. A priority queue was rejected: order among independent nodes does not matter. A cycle needs launches and
// waits that contradict each other, which no sound recording has; dropping edges until it is gone was rejected, since
// what is left would not replay exactly.
#include "analyze/replay/graph.h"

namespace stepscope {
namespace {

struct Successors {
  std::vector<std::uint32_t> first;  // by node
  std::vector<std::uint32_t> edge;
};

Successors group_by_source(const ReplayGraph& graph) {
  Successors result;
  result.first.assign(graph.time_ns.size() + 1, 0);
  for (const ReplayEdge& edge : graph.edges) ++result.first[edge.from.value + 1];
  for (std::size_t i = 1; i < result.first.size(); ++i) result.first[i] += result.first[i - 1];
  result.edge.resize(graph.edges.size());
  std::vector<std::uint32_t> next(result.first.begin(), result.first.end() - 1);
  for (std::uint32_t e = 0; e < graph.edges.size(); ++e) result.edge[next[graph.edges[e].from.value]++] = e;
  return result;
}

// Nodes in an order in which every edge runs forward; shorter than the graph if there is a cycle.
std::vector<std::uint32_t> topological_order(const ReplayGraph& graph) {
  const Successors successors = group_by_source(graph);
  std::vector<std::uint32_t> waiting(graph.time_ns.size(), 0);
  for (const ReplayEdge& edge : graph.edges) ++waiting[edge.to.value];
  std::vector<std::uint32_t> order;
  order.reserve(waiting.size());
  for (std::uint32_t node = 0; node < waiting.size(); ++node) {
    if (waiting[node] == 0) order.push_back(node);
  }
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::uint32_t node = order[at];
    for (std::uint32_t i = successors.first[node]; i < successors.first[node + 1]; ++i) {
      const std::uint32_t to = graph.edges[successors.edge[i]].to.value;
      if (--waiting[to] == 0) order.push_back(to);
    }
  }
  return order;
}

void renumber(NodeId& node, const std::vector<std::uint32_t>& rank) {
  if (node.has_value()) node = NodeId(rank[node.value]);
}

void apply_order(ReplayGraph& graph, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> rank(order.size());
  Column<NodeId, TimeNs> times;
  times.raw().resize(order.size());
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    rank[order[at]] = at;
    times.raw()[at] = graph.time_ns.raw()[order[at]];
  }
  graph.time_ns = std::move(times);
  for (GpuUnit& unit : graph.units.raw()) renumber(unit.start, rank);
  for (UnitEnd& end : graph.ends.raw()) renumber(end.node, rank);
  for (ReplayCut& cut : graph.cuts) renumber(cut.node, rank);
  graph.unit_of_node.raw().assign(order.size(), {});
  for (std::uint32_t u = 0; u < graph.units.size(); ++u) graph.unit_of_node[graph.units[UnitId(u)].start] = UnitId(u);
  for (const UnitEnd& end : graph.ends.raw()) graph.unit_of_node[end.node] = end.unit;
  renumber(graph.first_gpu, rank);
  for (ReplayEdge& edge : graph.edges) {
    renumber(edge.from, rank);
    renumber(edge.to, rank);
  }
}

void group_by_target(ReplayGraph& graph) {
  graph.first_edge.assign(graph.time_ns.size() + 1, 0);
  for (const ReplayEdge& edge : graph.edges) ++graph.first_edge[edge.to.value + 1];
  for (std::size_t i = 1; i < graph.first_edge.size(); ++i) graph.first_edge[i] += graph.first_edge[i - 1];
  std::vector<std::uint32_t> next(graph.first_edge.begin(), graph.first_edge.end() - 1);
  std::vector<ReplayEdge> grouped(graph.edges.size());
  for (const ReplayEdge& edge : graph.edges) grouped[next[edge.to.value]++] = edge;
  graph.edges = std::move(grouped);
}

}  // namespace

bool number_nodes(ReplayGraph& graph) {
  const std::vector<std::uint32_t> order = topological_order(graph);
  if (order.size() != graph.time_ns.size()) return false;
  apply_order(graph, order);
  group_by_target(graph);
  return true;
}

}  // namespace stepscope

// What a unit waits for before it starts: its launch, its streams, other streams.
//
// Latencies and gaps are cut to their medians: whatever a start was later than that is a delay of unknown cause. It
// stays as a residual on the edge that bound, so that the replay of the unchanged run is exact.
#include <algorithm>
#include <limits>

#include "analyze/replay/gpu_units.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// When no unit was queued behind another: between two kernels of one stream 0.9 to 1.6 us were measured on H200s.
constexpr DurationNs kUsualGapNs = 1'000;

bool is_collective(const GpuUnit& unit) { return unit.kernel_class == KernelClass::kCommunication; }
bool is_copy(const GpuUnit& unit) { return unit.copy != CopyPath::kNone; }

// The latest end on each stream, of any unit, of work proper, of copies and of collectives.
struct StreamState {
  UnitEndId last, last_work, last_copy, last_communication;
};

class StartEdges {
 public:
  StartEdges(const ReplayInput& input, const CallIndex& calls, const std::vector<UnitDependency>& dependencies,
             ReplayGraph& graph)
      : input_(input), calls_(calls), dependencies_(dependencies), graph_(graph) {
    graph_.stream_gap_ns = median_gap_ns();
    states_.raw().assign(input.trace.streams.size(), {});
    for (std::uint32_t u = 0; u < graph.units.size(); ++u) add(UnitId(u));
  }

 private:
  // Of work that nothing else held: a collective queued behind another waits for its data, and with one for each
  // kernel, as sharded training has them, such waits were the median.
  DurationNs median_gap_ns() {
    const DurationNs queued_ns = 3 * input_.launches.latency_ns(false);
    std::vector<DurationNs> gaps;
    Column<StreamId, TimeNs> last_ns;
    last_ns.raw().assign(input_.trace.streams.size(), std::numeric_limits<TimeNs>::min());
    for (const GpuUnit& unit : graph_.units.raw()) {
      const TimeNs before = last_ns[graph_.ends[UnitEndId(unit.end_begin)].stream];
      const bool queued = unit.call.has_value() && !is_collective(unit) &&
                          before > std::numeric_limits<TimeNs>::min() && unit.launch_ns < before - queued_ns;
      if (queued && unit.start_ns >= before) gaps.push_back(unit.start_ns - before);
      for (const UnitEndId end : graph_.ends_of(unit).ids()) {
        TimeNs& last = last_ns[graph_.ends[end].stream];
        last = std::max(last, graph_.ends[end].end_ns);
      }
    }
    return median_ns(gaps).value_or(kUsualGapNs);
  }

  void add(UnitId id) {
    const GpuUnit& unit = graph_.units[id];
    if (!unit.is_before) {
      const std::size_t first = graph_.edges.size();
      add_launch(id, unit);
      add_streams(id, unit);
      add_dependencies(id, unit);
      if (graph_.edges.size() == first) anchor(unit);
      leave_residual(first, unit);
      add_bypasses(id, unit);
    }
    for (const UnitEndId end : graph_.ends_of(unit).ids()) pass(unit, end);
  }

  void push(EdgeKind kind, NodeId from, UnitId id, DurationNs typical_ns) {
    const DurationNs observed = graph_.units[id].start_ns - graph_.time_ns[from];
    const DurationNs weight = std::min(typical_ns, observed);
    graph_.edges.push_back({from, graph_.units[id].start, kind, id.value, weight, 0, typical_ns});
  }

  void add_launch(UnitId id, const GpuUnit& unit) {
    const CallNodes* nodes = calls_.find(unit.call);
    if (!nodes) return;
    const bool graph_launch = unit.event_end - unit.event_begin > 1;
    push(EdgeKind::kLaunch, nodes->start, id, input_.launches.latency_ns(graph_launch));
  }

  void add_streams(UnitId id, const GpuUnit& unit) {
    for (const UnitEndId end : graph_.ends_of(unit).ids()) {
      const UnitEndId last = states_[graph_.ends[end].stream].last;
      if (last.has_value()) push(EdgeKind::kStream, graph_.ends[last].node, id, graph_.stream_gap_ns);
    }
  }

  void add_dependencies(UnitId id, const GpuUnit& unit) {
    while (next_ < dependencies_.size() && dependencies_[next_].unit < id) ++next_;
    for (; next_ < dependencies_.size() && dependencies_[next_].unit == id; ++next_) {
      const UnitEnd& on = graph_.ends[dependencies_[next_].on];
      if (on.end_ns <= unit.start_ns) push(EdgeKind::kDependency, on.node, id, graph_.stream_gap_ns);
    }
  }

  // Nothing known holds it: it keeps its distance from the cut before it.
  void anchor(const GpuUnit& unit) {
    const auto after = std::upper_bound(graph_.cuts.begin(), graph_.cuts.end(), unit.start_ns,
                                        [](TimeNs t, const ReplayCut& cut) { return t < cut.at_ns; });
    if (after == graph_.cuts.begin()) return;
    const ReplayCut& cut = *std::prev(after);
    const DurationNs distance = unit.start_ns - cut.at_ns;
    graph_.edges.push_back({cut.node, unit.start, EdgeKind::kOrder, 0, distance, 0, distance});
  }

  void leave_residual(std::size_t first, const GpuUnit& unit) {
    if (first == graph_.edges.size()) return;
    const auto at = [&](const ReplayEdge& edge) { return graph_.time_ns[edge.from] + edge.weight_ns; };
    const auto binding = std::max_element(graph_.edges.begin() + static_cast<std::ptrdiff_t>(first), graph_.edges.end(),
                                          [&](const auto& a, const auto& b) { return at(a) < at(b); });
    binding->residual_ns = unit.start_ns - at(*binding);
  }

  // If the copy or collective before it were elsewhere, it would wait for what came before that; and those of one kind
  // still follow each other.
  void add_bypasses(UnitId id, const GpuUnit& unit) {
    for (const UnitEndId end : graph_.ends_of(unit).ids()) {
      const StreamState& state = states_[graph_.ends[end].stream];
      UnitEndId over = state.last_work;
      if (is_copy(unit)) over = state.last_copy;
      if (is_collective(unit)) over = state.last_communication;
      if (!over.has_value() || over == state.last) continue;
      // No more than what the edge from the latest end holds: a start must not come later for going around it.
      const DurationNs from_last = unit.start_ns - graph_.ends[state.last].end_ns;
      const DurationNs weight = std::min<DurationNs>({0, from_last, unit.start_ns - graph_.ends[over].end_ns});
      graph_.edges.push_back({graph_.ends[over].node, unit.start, EdgeKind::kBypass, id.value, weight, 0, weight});
    }
  }

  void later(UnitEndId& known, UnitEndId end) const {
    if (!known.has_value() || graph_.ends[known].end_ns <= graph_.ends[end].end_ns) known = end;
  }

  void pass(const GpuUnit& unit, UnitEndId end) {
    StreamState& state = states_[graph_.ends[end].stream];
    later(state.last, end);
    if (!is_copy(unit) && !is_collective(unit)) later(state.last_work, end);
    if (is_copy(unit)) later(state.last_copy, end);
    if (is_collective(unit)) later(state.last_communication, end);
  }

  const ReplayInput& input_;
  const CallIndex& calls_;
  const std::vector<UnitDependency>& dependencies_;
  ReplayGraph& graph_;
  Column<StreamId, StreamState> states_;
  std::size_t next_ = 0;
};

}  // namespace

void add_start_edges(const ReplayInput& input, const CallIndex& calls, const std::vector<UnitDependency>& dependencies,
                     ReplayGraph& graph) {
  StartEdges(input, calls, dependencies, graph);
}

}  // namespace stepscope

// Waits for one event take it from compute_waits; waits for the whole device are chained, so that a thousand of them on
// a hundred streams need no hundred thousand edges.
#include "analyze/replay/conditions.h"

#include <algorithm>
#include <limits>

#include "analyze/replay/host_work.h"

namespace stepscope {
namespace {

// A call that returned before its supposed condition ended, by more than the clocks' error, did not wait for it.
constexpr DurationNs kRefutedNs = 2'000;
// What is left of a call that only waited: its own host work. A synchronize costs 1 to 3 us when there is nothing to
// wait for, a copy call about as much as a launch.
constexpr DurationNs kOwnSyncNs = 3'000;
constexpr DurationNs kOwnCopyNs = 6'000;
// More streams than any program has; a hostile file could make each wait look at all of them.
constexpr std::size_t kMaxStreams = 4'096;

class Conditions {
 public:
  Conditions(const ReplayInput& input, const CallIndex& calls, const UnitIndex& index, ReplayGraph& graph)
      : input_(input), calls_(calls), graph_(graph) {
    std::vector<std::uint32_t> device_wide;
    for (std::uint32_t w = 0; w < input.waits.size(); ++w) {
      const Wait& wait = input.waits[w];
      if (!calls.find(wait.call)) continue;
      if (wait.kind == WaitKind::kDevice || wait.kind == WaitKind::kFree) {
        device_wide.push_back(w);
      } else if (wait.condition) {
        const UnitEndId end = index.find_end(input.trace, *wait.condition);
        if (end.has_value()) add(w, graph.ends[end].node);
      }
    }
    if (input.trace.streams.size() <= kMaxStreams) add_device_wide(device_wide);
  }

 private:
  [[nodiscard]] TimeNs start_of(std::uint32_t wait) const {
    return input_.trace.calls.start_ns[input_.waits[wait].call];
  }

  void add(std::uint32_t w, NodeId condition) {
    const Wait& wait = input_.waits[w];
    const CallNodes& nodes = *calls_.find(wait.call);
    const TimeNs returned_ns = graph_.time_ns[nodes.returned];
    const TimeNs condition_ns = graph_.time_ns[condition];
    if (condition_ns > returned_ns + kRefutedNs) return;
    const TimeNs begun_ns = graph_.time_ns[nodes.start];
    DurationNs tail = returned_ns - std::max(begun_ns, condition_ns);
    if (condition_ns > begun_ns) shorten_own(nodes, wait.kind, tail);
    graph_.edges.push_back({condition, nodes.returned, EdgeKind::kCondition, w, tail, 0, tail});
  }

  void shorten_own(const CallNodes& nodes, WaitKind kind, DurationNs tail) {
    if (!nodes.own.has_value()) return;
    // A free works after it has waited: the same work whether it waits or not.
    DurationNs own = kind == WaitKind::kCopy ? kOwnCopyNs : kOwnSyncNs;
    if (kind == WaitKind::kFree) own = std::max<DurationNs>(0, tail);
    shorten_work(graph_, nodes.own, own);
    ReplayEdge& edge = graph_.edges[nodes.own_edge];
    edge.weight_ns = edge.typical_ns = graph_.work[nodes.own].length_ns;
  }

  // Each wait's node "everything launched so far has ended" follows the one before it.
  void add_device_wide(std::vector<std::uint32_t>& waits) {
    std::sort(waits.begin(), waits.end(), [&](auto a, auto b) { return start_of(a) < start_of(b); });
    list_launched();
    NodeId previous;
    for (const std::uint32_t w : waits) {
      take_launched_before(start_of(w));
      const NodeId done =
          add_all_done(previous, graph_.time_ns[calls_.find(input_.waits[w].call)->returned] + kRefutedNs);
      if (!done.has_value()) continue;
      add(w, done);
      previous = done;
    }
  }

  void list_launched() {
    for (std::uint32_t e = 0; e < graph_.ends.size(); ++e) launched_.push_back(UnitEndId(e));
    std::stable_sort(launched_.begin(), launched_.end(),
                     [&](UnitEndId a, UnitEndId b) { return launch_ns(a) < launch_ns(b); });
    latest_.raw().resize(input_.trace.streams.size());
  }
  [[nodiscard]] TimeNs launch_ns(UnitEndId end) const { return graph_.units[graph_.ends[end].unit].launch_ns; }

  void take_launched_before(TimeNs at_ns) {
    for (; next_ < launched_.size() && launch_ns(launched_[next_]) < at_ns; ++next_) {
      const UnitEndId end = launched_[next_];
      UnitEndId& latest = latest_[graph_.ends[end].stream];
      if (!latest.has_value()) touched_.push_back(graph_.ends[end].stream);
      if (!latest.has_value() || graph_.ends[latest].end_ns <= graph_.ends[end].end_ns) latest = end;
    }
  }

  NodeId add_all_done(NodeId previous, TimeNs limit_ns) {
    NodeId done;
    TimeNs done_ns = std::numeric_limits<TimeNs>::min();
    const auto depend = [&](NodeId on) {
      if (!done.has_value()) done = graph_.add_node(done_ns);
      done_ns = std::max(done_ns, graph_.time_ns[on]);
      graph_.time_ns[done] = done_ns;
      graph_.edges.push_back({on, done, EdgeKind::kAllDone});
    };
    if (previous.has_value() && graph_.time_ns[previous] <= limit_ns) depend(previous);
    std::erase_if(touched_, [&](StreamId stream) {
      const UnitEnd& end = graph_.ends[latest_[stream]];
      if (end.end_ns > limit_ns) return false;  // still running when the call returned: for a later wait
      depend(end.node);
      latest_[stream] = {};
      return true;
    });
    return done;
  }

  const ReplayInput& input_;
  const CallIndex& calls_;
  ReplayGraph& graph_;
  std::vector<UnitEndId> launched_;  // by launch
  std::size_t next_ = 0;
  Column<StreamId, UnitEndId> latest_;
  std::vector<StreamId> touched_;
};

}  // namespace

void add_conditions(const ReplayInput& input, const CallIndex& calls, const UnitIndex& index, ReplayGraph& graph) {
  Conditions(input, calls, index, graph);
}

}  // namespace stepscope

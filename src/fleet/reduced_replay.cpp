// One pass over the graph in topological order; each node gets the ways that lead to it from the points before.
//
// The compute stream never stops for a collective that nobody needs yet, so ways from one step's work would lead into
// all later steps. Hence the passes: the host's cut and the last end on each stream before it. Nearly all that a step
// owes to earlier ones goes through them.
#include "fleet/reduced_replay.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "analyze/run_replay.h"
#include "fleet/longest_paths.h"

namespace stepscope {
namespace {

using PointKind = SummaryReplayPoint::Kind;

constexpr std::uint32_t kNone = 0xffffffff;
// Passes of a step, beside the host's: the streams of any program that we know, many times over.
constexpr std::size_t kMaxPassesOfStep = 32;
// Ways over all nodes: 1 GB of them. Ordinary graphs have two or three a node.
constexpr std::size_t kMaxWays = 32'000'000;

class Reducer {
 public:
  Reducer(const Trace& trace, const RunReplay& run, std::span<const GpuEventId> collectives)
      : trace_(trace), run_(run), graph_(run.graph) {
    const std::size_t nodes = graph_.time_ns.size();
    role_.assign(nodes, {});
    first_way_.reserve(nodes + 1);
    find_meetings(collectives);
    find_passes();
    expect_boundaries();
  }

  SummaryReplay reduce() {
    if (out_.refused) return std::move(out_);
    add_point(PointKind::kOrigin, 0, graph_.origin_ns, 0);
    source_points_.push_back(0);
    static_cast<void>(distances_.add({}, true));
    first_way_.push_back(0);
    for (std::uint32_t node = 0; node < graph_.time_ns.size(); ++node) {
      visit(node);
      first_way_.push_back(ways_.size());
      pass_by(node);
      if (ways_.size() > kMaxWays) {
        out_.refused = "its work is too entangled to be reduced to where ranks meet";
        return std::move(out_);
      }
    }
    while (next_cut_ < graph_.cuts.size()) make_boundary(next_cut_++);
    put_in_order();
    out_.step_count = static_cast<std::uint32_t>(graph_.steps.size());
    out_.cost_uncertainty_ratio = run_.cost_uncertainty_ratio;
    return std::move(out_);
  }

 private:
  // What a node is beside a node.
  struct Role {
    PointKind kind = PointKind::kOrigin;  // kOrigin: nothing
    std::uint32_t of = 0;
    std::uint32_t arrival = kNone;  // kEnd: its start's node
  };

  void find_meetings(std::span<const GpuEventId> collectives) {
    std::unordered_map<std::uint32_t, std::uint32_t> index;
    for (std::uint32_t c = 0; c < collectives.size(); ++c) {
      if (collectives[c].has_value()) index.emplace(collectives[c].value, c);
    }
    for (const GpuUnit& unit : graph_.units.raw()) {
      for (const GpuEventId event : graph_.events_of(unit)) {
        const auto found = index.find(event.value);
        if (found == index.end() || unit.is_before) continue;
        if (unit.event_end - unit.event_begin != 1) {
          out_.refused = "its collectives run inside GPU graphs, whose parts cannot be moved apart";
          return;
        }
        const std::uint32_t end = graph_.ends[UnitEndId(unit.end_begin)].node.value;
        role_[unit.start.value] = {PointKind::kArrival, found->second, kNone};
        role_[end] = {PointKind::kEnd, found->second, unit.start.value};
      }
    }
    find_ready();
  }

  // The ends of work that a collective's start waits for.
  void find_ready() {
    for (const ReplayEdge& edge : graph_.edges) {
      if (edge.kind != EdgeKind::kDependency && edge.kind != EdgeKind::kStream) continue;
      const Role& to = role_[edge.to.value];
      Role& from = role_[edge.from.value];
      if (to.kind == PointKind::kArrival && from.kind == PointKind::kOrigin) from = {PointKind::kReady, to.of, kNone};
    }
  }

  // At the start of each step but the first.
  void find_passes() {
    std::vector<UnitEndId> by_launch;
    for (std::uint32_t e = 0; e < graph_.ends.size(); ++e) {
      if (stretch_of(UnitEndId(e)) != GpuUnit::kNoStretch) by_launch.push_back(UnitEndId(e));
    }
    std::stable_sort(by_launch.begin(), by_launch.end(),
                     [&](UnitEndId a, UnitEndId b) { return stretch_of(a) < stretch_of(b); });
    Column<StreamId, UnitEndId> latest;
    latest.raw().resize(trace_.streams.size());
    std::size_t next = 0;
    for (std::uint32_t step = 1; step < graph_.steps.size(); ++step) {
      const std::uint32_t cut = graph_.steps[step].start;
      std::vector<StreamId> used;
      for (; next < by_launch.size() && stretch_of(by_launch[next]) <= static_cast<std::int32_t>(cut); ++next) {
        const UnitEnd& end = graph_.ends[by_launch[next]];
        UnitEndId& known = latest[end.stream];
        if (!known.has_value() || graph_.ends[known].end_ns <= end.end_ns) {
          known = by_launch[next];
          used.push_back(end.stream);
        }
      }
      std::sort(used.begin(), used.end());
      used.erase(std::unique(used.begin(), used.end()), used.end());
      if (used.size() > kMaxPassesOfStep) used.resize(kMaxPassesOfStep);
      pass(graph_.cuts[cut].node, step);
      for (const StreamId stream : used) pass(graph_.ends[latest[stream]].node, step);
    }
  }
  [[nodiscard]] std::int32_t stretch_of(UnitEndId end) const { return graph_.units[graph_.ends[end].unit].stretch; }

  void pass(NodeId node, std::uint32_t step) {
    Role& role = role_[node.value];
    if (role.kind == PointKind::kOrigin) role = {PointKind::kPass, step, kNone};
  }

  void visit(std::uint32_t node) {
    gather(node);
    const Role role = role_[node];
    switch (role.kind) {
      case PointKind::kArrival:
        add_edges(add_point(role.kind, role.of, graph_.time_ns.raw()[node], node), reached_);
        break;
      case PointKind::kEnd:
        add_point(role.kind, role.of, graph_.time_ns.raw()[node], node);
        start_from(ways_of(role.arrival), false);
        break;
      case PointKind::kPass:
      case PointKind::kReady:
        add_edges(add_point(role.kind, role.of, graph_.time_ns.raw()[node], node), reached_);
        start_from(reached_, role.kind == PointKind::kPass);
        break;
      default:
        break;
    }
    ways_.insert(ways_.end(), reached_.begin(), reached_.end());
  }

  // The ways to a node, into reached_.
  void gather(std::uint32_t node) {
    reached_.clear();
    for (std::uint32_t e = graph_.first_edge[node]; e < graph_.first_edge[node + 1]; ++e) {
      const PathLanes weight = weigh(e);
      if (weight[0] < kNever / 2) continue;
      for (Way way : ways_of(graph_.edges[e].from.value)) {
        for (std::size_t lane = 0; lane < kPathLanes; ++lane) way.length_ns[lane] += weight[lane];
        reached_.push_back(way);
      }
    }
    if (reached_.empty()) {  // nothing holds it: it keeps its recorded time
      const DurationNs at = graph_.time_ns.raw()[node] - graph_.origin_ns;
      reached_.push_back({0, {at, at, at}});
    }
    distances_.reduce(reached_);
  }

  [[nodiscard]] std::span<const Way> ways_of(std::uint32_t node) const {
    return std::span(ways_).subspan(first_way_[node], first_way_[node + 1] - first_way_[node]);
  }

  [[nodiscard]] PathLanes weigh(std::uint32_t e) const {
    const Lanes& lanes = run_.weights[e];
    PathLanes weight{lanes[kRecorded], lanes[kMid], lanes[kMid]};
    const ReplayEdge& edge = graph_.edges[e];
    if (edge.kind == EdgeKind::kDuration) {
      weight[2] = std::max(std::min<DurationNs>(0, weight[1]), weight[1] - run_.contention_ns[edge.item]);
    }
    return weight;
  }

  // From here on ways start anew, at the latest point, which these led to.
  void start_from(std::span<const Way> ways, bool is_anchor) {
    const std::uint32_t source = distances_.add(ways, is_anchor);
    source_points_.push_back(static_cast<std::uint32_t>(out_.points.size() - 1));
    reached_.assign(1, {source, {}});
  }

  std::uint32_t add_point(PointKind kind, std::uint32_t of, TimeNs at_ns, std::uint32_t place) {
    out_.points.push_back({kind, of, at_ns + trace_.info.base_ns});
    places_.push_back(place);
    return static_cast<std::uint32_t>(out_.points.size() - 1);
  }

  void add_edges(std::uint32_t to, std::span<const Way> ways) {
    for (const Way& way : ways) {
      out_.edges.push_back({source_points_[way.source], to, way.length_ns[0], way.length_ns[1], way.length_ns[2]});
    }
  }

  struct Boundary {
    std::vector<Way> ways;
    TimeNs at_ns = 0;
  };

  // A boundary is the latest of the host's cut and of the ends of all work launched before it. It is made as soon as
  // all of these have been visited, while the distances between what leads there are still at hand.
  void expect_boundaries() {
    const std::size_t cuts = graph_.cuts.size();
    stretch_of_node_.assign(graph_.time_ns.size(), GpuUnit::kNoStretch);
    awaited_.assign(cuts + 1, 1);  // the cut itself
    launched_.assign(cuts + 1, {{}, graph_.origin_ns});
    for (const UnitEnd& end : graph_.ends.raw()) {
      const std::int32_t stretch = graph_.units[end.unit].stretch;
      if (stretch == GpuUnit::kNoStretch) continue;
      stretch_of_node_[end.node.value] = stretch;
      ++awaited_[static_cast<std::size_t>(stretch)];
    }
    if (graph_.first_gpu.has_value()) {
      stretch_of_node_[graph_.first_gpu.value] = 0;
      ++awaited_[0];
    }
  }

  void pass_by(std::uint32_t node) {
    const std::int32_t stretch = stretch_of_node_[node];
    if (stretch != GpuUnit::kNoStretch) {
      take(NodeId(node), launched_[static_cast<std::size_t>(stretch)]);
      --awaited_[static_cast<std::size_t>(stretch)];
    }
    // Cuts are visited in their order, as one chain of the host leads through them.
    if (next_cut_node_ < graph_.cuts.size() && graph_.cuts[next_cut_node_].node.value == node) {
      --awaited_[next_cut_node_++];
    }
    while (next_cut_ < graph_.cuts.size() && awaited_[next_cut_] == 0) make_boundary(next_cut_++);
  }

  void make_boundary(std::uint32_t cut) {
    Boundary& busy = launched_[cut];
    if (cut > 0) {
      busy.ways.insert(busy.ways.end(), launched_[cut - 1].ways.begin(), launched_[cut - 1].ways.end());
      busy.at_ns = std::max(busy.at_ns, launched_[cut - 1].at_ns);
      distances_.reduce(busy.ways);
    }
    Boundary boundary = busy;
    take(graph_.cuts[cut].node, boundary);
    std::optional<std::uint32_t> same;
    for (; ended_steps_ < graph_.steps.size() && graph_.steps[ended_steps_].end == cut; ++ended_steps_) {
      same = add_boundary(PointKind::kStepEnd, ended_steps_, boundary, {});
    }
    for (; begun_steps_ < graph_.steps.size() && graph_.steps[begun_steps_].start == cut; ++begun_steps_) {
      add_boundary(PointKind::kStepStart, begun_steps_, boundary, same);
    }
  }

  void take(NodeId node, Boundary& boundary) const {
    const auto more = ways_of(node.value);
    boundary.ways.insert(boundary.ways.end(), more.begin(), more.end());
    distances_.reduce(boundary.ways);
    boundary.at_ns = std::max(boundary.at_ns, graph_.time_ns[node]);
  }

  std::uint32_t add_boundary(PointKind kind, std::uint32_t step, const Boundary& boundary,
                             std::optional<std::uint32_t> same) {
    std::uint32_t place = same ? places_[*same] : 0;
    if (!same) {
      for (const Way& way : boundary.ways) place = std::max(place, places_[source_points_[way.source]]);
    }
    const std::uint32_t point = add_point(kind, step, boundary.at_ns, place);
    if (same) {
      out_.edges.push_back({*same, point, 0, 0, 0});
    } else {
      add_edges(point, boundary.ways);
    }
    return point;
  }

  // By node; a boundary comes after the last point that it waits for.
  void put_in_order() {
    std::vector<std::uint32_t> order(out_.points.size()), rank(order.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return places_[a] < places_[b]; });
    std::vector<SummaryReplayPoint> points;
    points.reserve(order.size());
    for (std::uint32_t at = 0; at < order.size(); ++at) {
      rank[order[at]] = at;
      points.push_back(out_.points[order[at]]);
    }
    out_.points = std::move(points);
    for (SummaryReplayEdge& edge : out_.edges)
      edge = {rank[edge.from], rank[edge.to], edge.recorded_ns, edge.unprofiled_ns, edge.uncontended_ns};
    std::sort(out_.edges.begin(), out_.edges.end(),
              [](const auto& a, const auto& b) { return std::pair(a.to, a.from) < std::pair(b.to, b.from); });
  }

  const Trace& trace_;
  const RunReplay& run_;
  const ReplayGraph& graph_;
  SummaryReplay out_;
  std::vector<std::uint32_t> places_;  // by point
  std::vector<Role> role_;             // by node
  std::vector<Way> ways_;              // of all nodes so far
  std::vector<std::size_t> first_way_;
  std::vector<Way> reached_;
  SourceDistances distances_;
  std::vector<std::uint32_t> source_points_;  // by source
  // Boundaries, by cut: what was launched before it and after the one before, and how much of it is not visited yet.
  std::vector<std::int32_t> stretch_of_node_;
  std::vector<std::uint32_t> awaited_;
  std::vector<Boundary> launched_;
  std::uint32_t next_cut_ = 0, next_cut_node_ = 0, begun_steps_ = 0, ended_steps_ = 0;
};

// The step that launched it; missing between steps.
std::optional<std::size_t> step_of(const ReplayGraph& graph, const GpuUnit& unit) {
  for (std::size_t k = 0; k < graph.steps.size(); ++k) {
    const bool within = unit.stretch > static_cast<std::int32_t>(graph.steps[k].start) &&
                        unit.stretch <= static_cast<std::int32_t>(graph.steps[k].end);
    if (within) return k;
  }
  return std::nullopt;
}

// How many steps from the first on have all their collectives in the list.
std::size_t count_whole_steps(const Trace& trace, const Facts& facts, const ReplayGraph& graph,
                              std::span<const GpuEventId> collectives) {
  std::vector<std::uint32_t> listed;
  for (const GpuEventId event : collectives) listed.push_back(event.value);
  std::sort(listed.begin(), listed.end());
  std::size_t whole = graph.steps.size();
  for (const GpuUnit& unit : graph.units.raw()) {
    if (unit.kernel_class != KernelClass::kCommunication || unit.is_before) continue;
    const GpuEventId event = graph.events_of(unit).front();
    if (trace.gpu_events.device[event] != facts.busy[facts.main_device].device) continue;
    if (std::binary_search(listed.begin(), listed.end(), event.value)) continue;
    whole = std::min(whole, step_of(graph, unit).value_or(whole));
  }
  return whole;
}

std::size_t varint_bytes(std::int64_t value) {
  auto zigzag = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  std::size_t bytes = 1;
  for (; zigzag >= 128; zigzag >>= 7) ++bytes;
  return bytes;
}

}  // namespace

std::size_t estimate_replay_bytes(const SummaryReplay& replay) {
  std::size_t bytes = 0;
  TimeNs before_ns = replay.points.empty() ? 0 : replay.points.front().recorded_ns;
  for (const SummaryReplayPoint& point : replay.points) {
    bytes += 1 + varint_bytes(point.of) + varint_bytes(point.recorded_ns - before_ns);
    before_ns = point.recorded_ns;
  }
  std::uint32_t to = 0;
  for (const SummaryReplayEdge& edge : replay.edges) {
    bytes += varint_bytes(edge.to - to) + varint_bytes(edge.to - edge.from) + varint_bytes(edge.recorded_ns) +
             varint_bytes(edge.recorded_ns - edge.unprofiled_ns) +
             varint_bytes(edge.unprofiled_ns - edge.uncontended_ns);
    to = edge.to;
  }
  return bytes;
}

SummaryReplay reduce_replay(const Trace& trace, const Facts& facts, std::span<const GpuEventId> collectives,
                            std::size_t max_steps, const ReplayBudget& budget) {
  SummaryReplay replay;
  while (true) {
    const RunReplay run = build_run_replay(trace, facts, max_steps);
    replay.refused = run.refused;
    if (replay.refused) return replay;
    const std::size_t whole = count_whole_steps(trace, facts, run.graph, collectives);
    if (whole == 0) {
      replay.refused = "not all collectives of a step are kept";
      return replay;
    }
    if (whole < run.graph.steps.size()) {
      max_steps = whole;
      continue;
    }
    replay = Reducer(trace, run, collectives).reduce();
    if (replay.refused) return replay;
    const std::size_t bytes = estimate_replay_bytes(replay);
    if (bytes <= budget.max_bytes) return replay;
    if (replay.step_count == 1) {
      if (bytes <= budget.max_bytes_of_one_step) return replay;
      replay = {};
      replay.refused = "one step has more meetings than a summary holds";
      return replay;
    }
    max_steps = std::clamp<std::size_t>(replay.step_count * budget.max_bytes / bytes, 1, replay.step_count - 1);
  }
}

}  // namespace stepscope

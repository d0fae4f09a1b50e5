// One pass over the edges; each kind asks only for the changes that concern it.
#include "analyze/replay/edits.h"

#include <algorithm>

namespace stepscope {
namespace {

class Applier {
 public:
  Applier(const ReplayGraph& graph, const ProfilerCost& cost, const Edits& edits)
      : graph_(graph), cost_(cost), edits_(edits) {
    for (const LaneMask lanes : edits.detached) detached_lanes_ |= lanes;
  }

  [[nodiscard]] Lanes weigh(const ReplayEdge& edge, const Lanes& unchanged) const {
    switch (edge.kind) {
      case EdgeKind::kWork:
        return weigh_host(edge, unchanged);
      case EdgeKind::kCondition:
        return !edits_.is_unwaited.empty() && edits_.is_unwaited[edge.item] ? all_lanes(kNever) : unchanged;
      case EdgeKind::kDuration:
        return weigh_duration(edge, unchanged);
      case EdgeKind::kLaunch:
      case EdgeKind::kStream:
      case EdgeKind::kDependency:
        return weigh_start(edge, unchanged);
      case EdgeKind::kBypass:
        return weigh_bypass(edge, unchanged);
      case EdgeKind::kOrder:
      case EdgeKind::kAllDone:
        break;
    }
    return unchanged;
  }

 private:
  [[nodiscard]] Lanes weigh_host(const ReplayEdge& edge, const Lanes& unchanged) const {
    const double kept = edits_.kept_work.empty() ? 1 : edits_.kept_work[edge.item];
    if (edits_.zero_labels == 0 && kept == 1) return unchanged;
    return weigh_work(graph_, graph_.work[WorkId(edge.item)], cost_, edits_.zero_labels, kept);
  }

  [[nodiscard]] Lanes weigh_duration(const ReplayEdge& edge, const Lanes& unchanged) const {
    if (edits_.shorter_ns.empty()) return unchanged;
    Lanes weight = unchanged;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      weight[lane] =
          std::max(std::min<DurationNs>(0, unchanged[lane]), unchanged[lane] - edits_.shorter_ns[edge.item][lane]);
    }
    return weight;
  }

  [[nodiscard]] Lanes weigh_start(const ReplayEdge& edge, const Lanes& unchanged) const {
    Lanes weight = unchanged;
    if (!edits_.is_tight.empty() && edits_.is_tight[edge.item]) {
      for (DurationNs& lane : weight) lane -= edge.residual_ns;
      if (edge.kind == EdgeKind::kStream) weight = all_lanes(std::min<DurationNs>(0, edge.weight_ns));
    }
    const LaneMask loose = loose_lanes(edge);
    for (std::size_t lane = 0; loose != 0 && lane < kLaneCount; ++lane) {
      if (loose >> lane & 1) weight[lane] = kNever;
    }
    return weight;
  }

  // Lanes in which the edge's source is out of its target's way.
  [[nodiscard]] LaneMask loose_lanes(const ReplayEdge& edge) const {
    if (detached_lanes_ == 0 || edge.kind == EdgeKind::kLaunch) return 0;
    const UnitId source = graph_.unit_of_node[edge.from];
    if (!source.has_value()) return 0;
    return edits_.detached[source.value] & ~edits_.detached[edge.item];
  }

  [[nodiscard]] Lanes weigh_bypass(const ReplayEdge& edge, const Lanes& unchanged) const {
    Lanes weight = unchanged;
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      if (detached_lanes_ >> lane & 1) weight[lane] = edge.weight_ns;
    }
    return weight;
  }

  const ReplayGraph& graph_;
  const ProfilerCost& cost_;
  const Edits& edits_;
  LaneMask detached_lanes_ = 0;
};

}  // namespace

void Edits::shorten(const ReplayGraph& graph, UnitEndId end, const Lanes& by_ns) {
  shorter_ns.resize(graph.ends.size(), all_lanes(0));
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) shorter_ns[end.value][lane] += by_ns[lane];
}

void Edits::tighten(const ReplayGraph& graph, UnitId unit) {
  is_tight.resize(graph.units.size(), 0);
  is_tight[unit.value] = 1;
}

void Edits::detach(const ReplayGraph& graph, UnitId unit, LaneMask lanes) {
  detached.resize(graph.units.size(), 0);
  detached[unit.value] |= lanes;
}

void Edits::unwait(std::size_t wait_count, std::size_t wait) {
  is_unwaited.resize(wait_count, 0);
  is_unwaited[wait] = 1;
}

bool apply_edits(const ReplayGraph& graph, const ProfilerCost& cost, const std::vector<Lanes>& unchanged,
                 const Edits& edits, std::vector<Lanes>& weights) {
  const Applier applier(graph, cost, edits);
  weights.resize(unchanged.size());
  bool changed = false;
  for (std::size_t e = 0; e < unchanged.size(); ++e) {
    weights[e] = applier.weigh(graph.edges[e], unchanged[e]);
    changed = changed || weights[e] != unchanged[e];
  }
  return changed;
}

}  // namespace stepscope

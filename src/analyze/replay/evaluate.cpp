// A linear scan in topological order. 40,000 edges take about 0.2 ms.
#include "analyze/replay/evaluate.h"

#include <algorithm>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

Lanes later(const Lanes& a, const Lanes& b) {
  Lanes result;
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) result[lane] = std::max(a[lane], b[lane]);
  return result;
}

}  // namespace

void evaluate(const ReplayGraph& graph, std::span<const Lanes> weights, std::vector<Lanes>& times) {
  const std::size_t nodes = graph.time_ns.size();
  times.resize(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    const std::uint32_t first = graph.first_edge[node], end = graph.first_edge[node + 1];
    Lanes latest = all_lanes(2 * kNever);
    for (std::uint32_t e = first; e < end; ++e) {
      const Lanes& from = times[graph.edges[e].from.value];
      for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        latest[lane] = std::max(latest[lane], from[lane] + weights[e][lane]);
      }
    }
    for (DurationNs& lane : latest) {
      if (lane < kNever / 2) lane = graph.time_ns.raw()[node] - graph.origin_ns;
    }
    times[node] = latest;
  }
}

std::vector<Lanes> compute_step_durations(const ReplayGraph& graph, const std::vector<Lanes>& times) {
  // Latest end of the work launched in each stretch between cuts; work after the last cut bounds nothing.
  std::vector<Lanes> ends(graph.cuts.size() + 1, all_lanes(2 * kNever));
  for (const UnitEnd& end : graph.ends.raw()) {
    const std::int32_t stretch = graph.units[end.unit].stretch;
    if (stretch == GpuUnit::kNoStretch) continue;
    Lanes& latest = ends[static_cast<std::size_t>(stretch)];
    latest = later(latest, times[end.node.value]);
  }
  std::vector<Lanes> boundaries(graph.cuts.size());
  Lanes busy_until = graph.first_gpu.has_value() ? times[graph.first_gpu.value] : all_lanes(2 * kNever);
  for (std::size_t c = 0; c < graph.cuts.size(); ++c) {
    busy_until = later(busy_until, ends[c]);
    boundaries[c] = later(times[graph.cuts[c].node.value], busy_until);
  }
  std::vector<Lanes> durations(graph.steps.size());
  for (std::size_t k = 0; k < durations.size(); ++k) {
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
      durations[k][lane] = boundaries[graph.steps[k].end][lane] - boundaries[graph.steps[k].start][lane];
    }
  }
  return durations;
}

Lanes compute_median_step(const ReplayGraph& graph, const std::vector<Lanes>& times) {
  const std::vector<Lanes> durations = compute_step_durations(graph, times);
  Lanes medians{};
  std::vector<DurationNs> one(durations.size());
  for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
    for (std::size_t k = 0; k < durations.size(); ++k) one[k] = durations[k][lane];
    medians[lane] = median_ns(one).value_or(0);
  }
  return medians;
}

}  // namespace stepscope

// Refusals are sentences for people; a what-if that may be wrong is worse than none.
#include "analyze/replay/self_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kLargestError = 0.01;
constexpr double kLargestUnlinked = 0.01;
// Below this a delay is the clocks' and the scheduler's noise.
constexpr DurationNs kNoiseNs = 2'000;

std::string percent(double ratio) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", ratio * 100);
  return text;
}

// Every start has the typical latency and gap, and no unexplained delay.
std::vector<Lanes> typical_weights(const ReplayGraph& graph) {
  std::vector<Lanes> weights(graph.edges.size());
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const ReplayEdge& edge = graph.edges[e];
    const bool start =
        edge.kind == EdgeKind::kLaunch || edge.kind == EdgeKind::kStream || edge.kind == EdgeKind::kDependency;
    weights[e] = all_lanes(edge.kind == EdgeKind::kBypass ? kNever : start ? edge.typical_ns : edge.weight_ns);
  }
  return weights;
}

DurationNs unexplained_ns(const ReplayGraph& graph) {
  DurationNs sum = 0;
  for (const ReplayEdge& edge : graph.edges) {
    if (edge.to == graph.first_gpu) continue;  // waited for work that is not in the file
    if (edge.residual_ns > kNoiseNs) sum += edge.residual_ns;
  }
  return sum / static_cast<DurationNs>(std::max<std::size_t>(1, graph.steps.size()));
}

}  // namespace

double unlinked_ratio(const ReplayInput& input, const ReplayGraph& graph) {
  std::int64_t linked = 0, unlinked = 0;
  Column<DeviceId, std::uint8_t> led;  // has the device had a linked event?
  led.raw().resize(input.trace.devices.size(), 0);
  for (const GpuUnit& unit : graph.units.raw()) {
    std::uint8_t& has_linked = led[input.trace.gpu_events.device[graph.events_of(unit).front()]];
    if (unit.call.has_value()) {
      has_linked = 1;
      linked += unit.event_end - unit.event_begin;
    } else if (has_linked) {
      ++unlinked;
    }
  }
  return linked + unlinked > 0 ? static_cast<double>(unlinked) / static_cast<double>(linked + unlinked) : 1;
}

SelfCheck check_replay(const ReplayInput& input, const ReplayWindow& window, const ReplayGraph& graph) {
  SelfCheck check;
  check.step_count = graph.steps.size();
  check.first_step = window.first_step;
  check.scale = window.scale;
  check.unexplained_ns = unexplained_ns(graph);
  std::vector<Lanes> times;
  evaluate(graph, typical_weights(graph), times);
  const DurationNs replayed = compute_median_step(graph, times)[kRecorded];
  const DurationNs recorded = median_ns(window.recorded_ns).value_or(0);
  check.replay_error_ratio =
      recorded > 0 ? std::abs(static_cast<double>(replayed - recorded)) / static_cast<double>(recorded) : 1;
  const double unlinked = unlinked_ratio(input, graph);
  if (unlinked > kLargestUnlinked) {
    check.refused = percent(unlinked) + " of the GPU events have no launch call";
  } else if (check.replay_error_ratio > kLargestError) {
    check.refused = "the replayed step differs from the recorded one by " + percent(check.replay_error_ratio);
  }
  return check;
}

}  // namespace stepscope

// A drawn trace with its facts and its replay graph, for tests.
#pragma once

#include "analyze/gpu_timeline.h"
#include "analyze/replay/build_graph.h"
#include "analyze/replay/edits.h"
#include "analyze/replay/self_check.h"
#include "analyze/replay/transforms.h"
#include "support/trace_from_text.h"

namespace stepscope {

struct ReplayPicture {
  Trace trace;
  WhatIfOptions options;
  GpuTimeline timeline;
  Launches launches;
  Steps steps;
  KernelClasses classes;
  HostPath path;
  std::vector<Wait> waits;
  ReplayInput input;
  ReplayWindow window;
  ReplayGraph graph;
  std::optional<std::string> refused;

  // Latencies are 10 us, one column of a picture, unless the picture has launches that found their stream empty.
  explicit ReplayPicture(Trace drawn, WhatIfOptions chosen = {})
      : trace(std::move(drawn)),
        options(std::move(chosen)),
        timeline(compute_gpu_timeline(trace)),
        launches(compute_launches(trace, timeline)),
        steps(compute_steps(trace, timeline, launches, {})),
        classes(compute_kernel_classes(trace)),
        path(HostPath::build(trace, steps)),
        waits(compute_waits(trace, timeline, steps, path)),
        input{trace, timeline, launches, steps, classes, path, waits, options} {
    options.device = DeviceId(std::size_t{0});
    window = choose_replay_window(input);
    refused = window.refused;
    if (refused) return;
    BuiltGraph built = build_replay_graph(input, window);
    graph = std::move(built.graph);
    refused = built.refused;
  }

  [[nodiscard]] WhatIfs what_ifs() const {
    return compute_what_ifs(trace, timeline, launches, steps, classes, path, waits, options);
  }
  // Times of all nodes after a what-if, lane kRecorded, and the steps' durations.
  [[nodiscard]] std::vector<Lanes> times(const Edits& edits) const {
    const ProfilerCost cost = ProfilerCost::of(trace.info);
    std::vector<Lanes> weights, result;
    apply_edits(graph, cost, weigh_edges(graph, cost), edits, weights);
    evaluate(graph, weights, result);
    return result;
  }
  [[nodiscard]] std::vector<Lanes> times(Transform transform) const { return times(edits(transform)); }
  [[nodiscard]] Edits edits(Transform transform) const {
    const Pauses pauses = find_pauses(input, window);
    return edits_of(transform, {input, window, graph, pauses});
  }
  // Durations of the steps in us, as recorded, after a what-if.
  [[nodiscard]] std::vector<double> step_us(const Edits& edits) const {
    std::vector<double> result;
    for (const Lanes& step : compute_step_durations(graph, times(edits))) {
      result.push_back(static_cast<double>(step[kRecorded]) / 1e3);
    }
    return result;
  }
  [[nodiscard]] std::vector<double> step_us(Transform transform) const { return step_us(edits(transform)); }

  // How far the unchanged replay is from the recording, at worst: 0 if all is right.
  [[nodiscard]] DurationNs worst_deviation_ns() const {
    DurationNs worst = 0;
    const std::vector<Lanes> replayed = times(Edits{});
    for (std::size_t node = 0; node < replayed.size(); ++node) {
      worst = std::max(worst, std::abs(replayed[node][kRecorded] + graph.origin_ns - graph.time_ns.raw()[node]));
    }
    return worst;
  }

  [[nodiscard]] UnitId unit_of(std::string_view event_name) const {
    const GpuEventId event = gpu_event_named(trace, event_name);
    for (std::uint32_t u = 0; u < graph.units.size(); ++u) {
      for (const GpuEventId other : graph.events_of(graph.units[UnitId(u)])) {
        if (other == event) return UnitId(u);
      }
    }
    return {};
  }
  // Kinds of the edges into the start of the unit.
  [[nodiscard]] std::vector<EdgeKind> edges_into(std::string_view event_name) const {
    std::vector<EdgeKind> kinds;
    for (const ReplayEdge& edge : graph.edges) {
      if (edge.to == graph.units[unit_of(event_name)].start) kinds.push_back(edge.kind);
    }
    return kinds;
  }
  [[nodiscard]] std::int64_t count_of(EdgeKind kind) const {
    return std::count_if(graph.edges.begin(), graph.edges.end(), [&](const auto& edge) { return edge.kind == kind; });
  }
};

}  // namespace stepscope

// The estimate of the step without the profiler against what was measured without it, for every recording that has such
// a measurement, and which part of the profiler's cost took how much off. Prints the table of
// docs/decisions/unprofiled-step.md:
//
//     unprofiled_margins
//
// The recorded step's longest path is told as well: an estimate can be wrong only by what the host is on that path, so
// a wrong cost shows in the rows where the host's share is large and a wrong graph in the others.
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "analyze/replay/profiler_cost.h"
#include "analyze/replay/window.h"
#include "analyze/run_replay.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

// ms; from tests/data/README.md and tests/data/planted/README.md. Two numbers are a range that was measured.
struct Measured {
  const char* name;
  double low, high;
};
const Measured kMeasured[] = {
    {"h200/solid", 43.5, 43.5},
    {"h200/loader", 93.4, 93.4},
    {"h200/sync", 46.3, 46.3},
    {"h200/tiny", 15, 25},
    {"h200/optimizer", 47.6, 47.6},
    {"h200/memspike", 45.1, 45.1},
    {"h200/graph", 45.5, 45.5},
    {"h200/fp32", 127.6, 127.6},
    {"h200/logsync", 45.7, 45.7},
    {"h200/solid4_stack", 21.5, 21.5},
    {"h200/ddp_rank0", 37.4, 37.4},
    {"h200/ddp_rank1", 37.4, 37.4},
    {"h200/straggler_rank0", 62, 65},
    {"h200/straggler_rank1", 62, 65},
    {"h200/resnet_healthy", 22.6, 22.6},
    {"h200/resnet_pageable", 39.4, 39.4},
    {"h200/mask_sync", 22.5, 22.5},
    {"planted/thrash", 22.6, 22.6},
    {"planted/checkpoint", 16.7, 16.7},
    {"planted/checkpoint_stack", 16.7, 16.7},
    {"planted/gc", 206, 235},
    {"planted/gc_stack", 206, 235},
    {"planted/offload", 25.9, 25.9},
    {"planted/compile_steady", 13.7, 13.7},
    {"planted/decode", 12.4, 12.4},
    {"planted/odd_sizes", 39.3, 39.3},
    {"planted/fp32_shapes", 123.8, 123.8},
    {"planted/loader_workers", 30.8, 30.8},
    {"planted/python_batch", 39.2, 39.2},
    {"planted/scaler", 22.4, 22.4},
    {"planted/small_pageable", 17.0, 17.0},
    {"planted/evaluate", 4.8, 4.8},
    {"planted/recompute", 18.9, 18.9},
    {"planted/loop_checkpoint", 17.8, 17.8},
    {"planted/loop_thrash", 22.1, 22.1},
    {"planted/loop_unpinned", 17.4, 17.4},
    {"planted/loop_gc", 203, 203},
    {"planted/score", 3.7, 3.7},
    {"planted/odd_vocabulary", 60.3, 60.3},
    {"planted/odd_width", 36.8, 36.8},
    {"planted/sync_layers", 17.1, 17.1},
    {"planted/sync_mask", 16.4, 16.4},
    {"planted/sync_early", 23.4, 23.4},
};

double ms(DurationNs length) { return static_cast<double>(length) / 1e6; }

DurationNs replay(const ReplayGraph& graph, const std::vector<Lanes>& weights, Lane lane) {
  std::vector<Lanes> times;
  evaluate(graph, weights, times);
  return compute_median_step(graph, times)[lane];
}

ProfilerCost no_cost() {
  ProfilerCost cost;
  cost.call_ns = cost.frame_ns = cost.span_ns = cost.step_mark_ns = 0;
  return cost;
}

std::vector<Lanes> weights_with(const ReplayGraph& graph, const ProfilerCost& cost, bool with_gaps) {
  std::vector<Lanes> weights = weigh_edges(graph, cost);
  if (with_gaps) return weights;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    if (graph.edges[e].kind != EdgeKind::kWork) weights[e] = all_lanes(weights[e][kRecorded]);
  }
  return weights;
}

// What one part of the cost takes off the step alone.
std::array<DurationNs, 6> parts_alone(const ReplayGraph& graph, const ProfilerCost& all, DurationNs recorded_ns) {
  std::array<ProfilerCost, 6> only;
  only.fill(no_cost());
  only[0].op_ns = all.op_ns;
  only[1].call_ns = all.call_ns;
  only[2].frame_ns = all.frame_ns;
  only[3].span_ns = all.span_ns;
  only[4].step_mark_ns = all.step_mark_ns;
  std::array<DurationNs, 6> parts{};
  for (std::size_t p = 0; p < only.size(); ++p) {
    parts[p] = recorded_ns - replay(graph, weights_with(graph, only[p], p == 5), kMid);
  }
  return parts;
}

// The longest path to the last end: how much of it is host work, how much waits and launches, how much GPU.
struct Path {
  DurationNs host_ns = 0, launch_ns = 0, gpu_ns = 0, gap_ns = 0, tail_ns = 0;
  [[nodiscard]] double share(DurationNs part) const {
    const DurationNs all = host_ns + launch_ns + gpu_ns + gap_ns + tail_ns;
    return all > 0 ? 100 * static_cast<double>(part) / static_cast<double>(all) : 0;
  }
};

Path longest_path(const ReplayGraph& graph, const std::vector<Lanes>& weights, Lane lane) {
  std::vector<Lanes> times;
  evaluate(graph, weights, times);
  NodeId node = graph.cuts.back().node;
  for (const UnitEnd& end : graph.ends.raw()) {
    if (graph.units[end.unit].stretch == GpuUnit::kNoStretch) continue;
    if (times[end.node.value][lane] > times[node.value][lane]) node = end.node;
  }
  Path path;
  while (true) {
    const std::uint32_t first = graph.first_edge[node.value], end = graph.first_edge[node.value + 1];
    std::uint32_t binding = end;
    for (std::uint32_t e = first; e < end && binding == end; ++e) {
      const auto& edge = graph.edges[e];
      if (times[edge.from.value][lane] + weights[e][lane] == times[node.value][lane]) binding = e;
    }
    if (binding == end) return path;
    const DurationNs weight = weights[binding][lane];
    switch (graph.edges[binding].kind) {
      case EdgeKind::kWork:
      case EdgeKind::kOrder:
        path.host_ns += weight;
        break;
      case EdgeKind::kLaunch:
        path.launch_ns += weight;
        break;
      case EdgeKind::kDuration:
        path.gpu_ns += weight;
        break;
      case EdgeKind::kStream:
      case EdgeKind::kDependency:
      case EdgeKind::kBypass:
        path.gap_ns += weight;
        break;
      case EdgeKind::kCondition:
      case EdgeKind::kAllDone:
        path.tail_ns += weight;
        break;
    }
    node = graph.edges[binding].from;
  }
}

// The cost of an operator with which the middle would be what was measured, in us; missing when none from 0 to 20 is.
std::optional<double> wanted_op_us(const RunReplay& run, ProfilerCost cost, double truth_ms) {
  const auto step_ms = [&](DurationNs op_ns) {
    cost.op_ns = {0, op_ns, op_ns, op_ns};
    return ms(replay(run.graph, weigh_edges(run.graph, cost), kMid));
  };
  DurationNs low = 0, high = 20'000;
  if (step_ms(low) < truth_ms || step_ms(high) > truth_ms) return std::nullopt;
  while (high - low > 20) {
    const DurationNs middle = (low + high) / 2;
    (step_ms(middle) > truth_ms ? low : high) = middle;
  }
  return static_cast<double>(low) / 1e3;
}

double hook_pace_of(const Trace& trace, const Facts& facts) {
  WhatIfOptions options;
  options.device = facts.busy[facts.main_device].device;
  const ReplayInput input{trace,         facts.timeline, facts.launches, facts.steps,
                          facts.classes, facts.path,     facts.waits,    options};
  return measure_hook_pace(input, choose_replay_window(input).host);
}

std::string fmt_us(double us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", us);
  return text;
}

// The pace of the host, nearest to 1, with which the replay without the profiler comes within 3 % of what was measured;
// 0 where none from 0.4 to 2.5 does.
double needed_pace(const RunReplay& run, const Measured& measured) {
  const auto fits = [&](double pace) {
    std::vector<Lanes> weights = run.weights;
    for (std::size_t e = 0; e < weights.size(); ++e) {
      if (run.graph.edges[e].kind != EdgeKind::kWork) continue;
      weights[e][kMid] = static_cast<DurationNs>(static_cast<double>(weights[e][kMid]) * pace);
    }
    const double step = ms(replay(run.graph, weights, kMid));
    return step >= measured.low * 0.97 && step <= measured.high * 1.03;
  };
  for (int percent = 0; percent <= 150; ++percent) {
    const double by = percent / 100.0;
    if (by <= 0.6 && fits(1 - by)) return 1 - by;
    if (fits(1 + by)) return 1 + by;
  }
  return 0;
}

void print_row(const Measured& measured) {
  const Trace& trace = recorded_trace(measured.name);
  const Facts facts = compute_facts(trace, {});
  const WhatIf* unchanged = facts.what_ifs.find(Transform::kUnchanged);
  if (unchanged == nullptr) {
    std::printf("| %s | refused |\n", measured.name);
    return;
  }
  const RunReplay run = build_run_replay(trace, facts, facts.steps.steps.size());
  const Estimate& step = unchanged->step_unprofiled;
  const double truth = (measured.low + measured.high) / 2;
  const bool within = ms(step.low_ns) <= measured.high && ms(step.high_ns) >= measured.low;
  const DurationNs recorded = replay(run.graph, run.weights, kRecorded);
  const double hook_pace = hook_pace_of(trace, facts);
  const ProfilerCost cost = ProfilerCost::of(trace.info, hook_pace);
  const auto parts = parts_alone(run.graph, cost, recorded);
  const Path path = longest_path(run.graph, run.weights, kMid);
  std::printf("| %-24s | %6.1f | %6.1f | %5.1f (%5.1f to %5.1f) | %+5.1f %% | %s | %4.1f | %4.0f |", measured.name,
              truth, ms(recorded), ms(step.mid_ns), ms(step.low_ns), ms(step.high_ns),
              100 * (ms(step.mid_ns) / truth - 1), within ? "yes" : "NO ", ms(recorded) - truth,
              path.share(path.host_ns + path.launch_ns + path.tail_ns));
  for (const DurationNs part : parts) std::printf(" %5.2f |", ms(part));
  const auto wanted = wanted_op_us(run, cost, truth);
  const double used = static_cast<double>(cost.op_ns[kMid]) / 1e3;
  std::printf(" %3.1f | %4s | %.2f | %.2f |\n", used, wanted ? fmt_us(*wanted).c_str() : "", hook_pace,
              needed_pace(run, measured));
}

}  // namespace
}  // namespace stepscope

int main() {
  std::printf(
      "| recording | measured ms | recorded ms | estimate ms | middle off | within | cost ms | host %% | operators | "
      "calls | frames | spans | marks | gaps | us an operator | would fit | hook pace "
      "| needed pace |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const stepscope::Measured& each : stepscope::kMeasured) stepscope::print_row(each);
  return 0;
}

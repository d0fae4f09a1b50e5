// One rank. Bytes: elements of the larger side times the size of the dtype; bus bytes as nccl-tests defines them:
// all-reduce 2(n-1)/n, all-gather, reduce-scatter and all-to-all (n-1)/n, the others 1. The best bandwidth is taken
// over collectives of at least 1 MB, since smaller ones are bound by latency; where all are smaller, over all.
#include "analyze/collectives.h"

#include <algorithm>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kBandwidthBytes = 1e6;

std::optional<std::int64_t> dtype_bytes(std::string_view dtype) {
  for (const std::string_view name : {"Double", "Long", "UInt64", "ComplexFloat"}) {
    if (dtype == name) return 8;
  }
  for (const std::string_view name : {"Float", "Int", "UInt32"}) {
    if (dtype == name) return 4;
  }
  for (const std::string_view name : {"BFloat16", "Half", "Short", "UInt16"}) {
    if (dtype == name) return 2;
  }
  if (dtype == "ComplexDouble") return 16;
  if (dtype == "Byte" || dtype == "Char" || dtype == "Bool" || dtype.starts_with("Float8")) return 1;
  return std::nullopt;
}

double bus_factor(std::string_view collective, std::int64_t group_size) {
  if (group_size < 2) return 1;
  const double n = static_cast<double>(group_size);
  const auto has = [&](std::string_view part) { return collective.find(part) != std::string_view::npos; };
  if (has("allreduce") || has("all_reduce")) return 2 * (n - 1) / n;
  if (has("gather") || has("scatter") || has("all_to_all") || has("alltoall")) return (n - 1) / n;
  return 1;
}

std::optional<std::int64_t> find_bytes(const Trace& trace, CollectiveId id) {
  if (!id.has_value()) return std::nullopt;
  const Collectives& all = trace.collectives;
  const std::int64_t elements = std::max(all.in_count[id].value_or(0), all.out_count[id].value_or(0));
  const auto size = dtype_bytes(trace.text(all.dtype[id]));
  std::int64_t bytes = 0;
  if (elements <= 0 || !size || __builtin_mul_overflow(elements, *size, &bytes)) return std::nullopt;
  return bytes;
}

CollectiveRun describe_run(const Trace& trace, GpuEventId event, std::optional<std::size_t> step) {
  const CollectiveId id = trace.gpu_events.collective[event];
  CollectiveRun run{event, step, find_bytes(trace, id), std::nullopt};
  if (!run.bytes) return run;
  const Collectives& all = trace.collectives;
  run.bus_bytes =
      static_cast<double>(*run.bytes) * bus_factor(trace.text(all.name[id]), all.group_size[id].value_or(0));
  return run;
}

std::optional<std::size_t> find_step(const Trace& trace, const Steps& steps, GpuEventId event) {
  const CallId call = trace.gpu_events.call[event];
  if (call.has_value()) {
    if (const auto step = steps.find_by_host_time(trace.calls.start_ns[call])) return step;
  }
  return steps.find_by_gpu_time(trace.gpu_events.start_ns[event]);
}

// Kernels that compute: everything on the device but communication and copies.
IntervalSet compute_union(const Trace& trace, const GpuTimeline& timeline, const KernelClasses& classes,
                          const Steps& steps, DeviceId device) {
  std::vector<Interval> kernels;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (trace.gpu_events.kind[id] != GpuEventKind::kKernel) continue;
    if (classes.of[id] == KernelClass::kCommunication) continue;
    const Interval at{trace.gpu_events.start_ns[id], timeline.end_ns[id]};
    if (at.end_ns > steps.window.start_ns && at.start_ns < steps.window.end_ns) kernels.push_back(at);
  }
  return union_of(std::move(kernels));
}

std::optional<double> best_bandwidth(const Trace& trace, const GpuTimeline& timeline,
                                     const std::vector<CollectiveRun>& runs, double at_least_bytes) {
  std::optional<double> best;
  for (const CollectiveRun& run : runs) {
    const DurationNs length = timeline.end_ns[run.event] - trace.gpu_events.start_ns[run.event];
    if (!run.bus_bytes || *run.bus_bytes < at_least_bytes || length <= 0) continue;
    best = std::max(best.value_or(0), *run.bus_bytes * 1e9 / static_cast<double>(length));
  }
  return best;
}

}  // namespace

std::vector<CollectiveRun> find_collectives(const Trace& trace, const GpuTimeline& timeline,
                                            const KernelClasses& classes, const Steps& steps, DeviceId device) {
  std::vector<CollectiveRun> out;
  const GpuEvents& events = trace.gpu_events;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (classes.of[id] != KernelClass::kCommunication || !timeline.counts(trace, id)) continue;
    if (!steps.counts_at_gpu_time(events.start_ns[id])) continue;
    out.push_back(describe_run(trace, id, find_step(trace, steps, id)));
  }
  return out;
}

LoneWaits compute_lone_waits(const Trace& trace, const GpuTimeline& timeline, const KernelClasses& classes,
                             const Steps& steps, DeviceId device) {
  LoneWaits out;
  out.exposed_wait_by_step_ns.assign(steps.steps.size(), 0);
  const std::vector<CollectiveRun> runs = find_collectives(trace, timeline, classes, steps, device);
  out.best_bus_bytes_per_s = best_bandwidth(trace, timeline, runs, kBandwidthBytes);
  if (!out.best_bus_bytes_per_s) out.best_bus_bytes_per_s = best_bandwidth(trace, timeline, runs, 0);
  if (!out.best_bus_bytes_per_s) return out;

  std::vector<std::vector<Interval>> waits(steps.steps.size());
  for (const CollectiveRun& run : runs) {
    if (!run.bus_bytes || !run.step) continue;
    const Interval at{trace.gpu_events.start_ns[run.event], timeline.end_ns[run.event]};
    const auto transfer = static_cast<DurationNs>(*run.bus_bytes * 1e9 / *out.best_bus_bytes_per_s);
    const DurationNs wait = at.length_ns() - transfer;
    if (wait <= 0) continue;
    waits[*run.step].push_back({at.start_ns, at.start_ns + wait});
    if (wait > out.longest_wait_ns) {
      out.longest_wait_ns = wait;
      out.longest_wait = run.event;
    }
  }
  const IntervalSet compute = compute_union(trace, timeline, classes, steps, device);
  for (std::size_t step = 0; step < waits.size(); ++step) {
    out.exposed_wait_by_step_ns[step] = length_ns(subtract(union_of(std::move(waits[step])), compute));
  }
  out.median_exposed_wait_ns = median_ns(out.exposed_wait_by_step_ns);
  return out;
}

}  // namespace stepscope

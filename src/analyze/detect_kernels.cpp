// Steps from the period of the launches, where no span repeats (findings.md section 4).
//
// A symbol is a kernel's name and grid, or the size of a graph launch; sets and copies to the host are left out, since
// how many there are depends on logging. A cycle is cut at a copy from the host, where a step usually begins, else at
// the largest median pause of the host. Only whole cycles between two cuts become steps: what came before the first
// cut and after the last one has an end that nobody recorded.
#include <algorithm>
#include <array>
#include <cstdio>
#include <unordered_map>

#include "analyze/launch_period.h"
#include "analyze/step_marks.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

struct Launch {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  CallId call;
};

bool is_copy_of(const Trace& trace, GpuEventId id, std::string_view cuda, std::string_view rocm) {
  if (trace.gpu_events.kind[id] != GpuEventKind::kCopy) return false;
  const std::string_view name = trace.text(trace.gpu_events.name[id]);
  return name.find(cuda) != std::string_view::npos || name.find(rocm) != std::string_view::npos;
}
bool is_copy_to_host(const Trace& trace, GpuEventId id) { return is_copy_of(trace, id, "DtoH", "DeviceToHost"); }
bool is_copy_from_host(const Trace& trace, GpuEventId id) { return is_copy_of(trace, id, "HtoD", "HostToDevice"); }

std::vector<Launch> launches_in_order(const Trace& trace) {
  std::vector<Launch> launches;
  for (const CallId call : trace.calls.ids().ids()) {
    const GpuEventId first = first_event_of(trace, call);
    if (!first.has_value()) continue;
    const bool single = !is_graph_launch(trace, call);
    if (single && trace.gpu_events.kind[first] == GpuEventKind::kSet) continue;
    if (single && is_copy_to_host(trace, first)) continue;
    launches.push_back({trace.calls.start_ns[call], trace.calls.end_ns[call], call});
  }
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
  return launches;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29U);
}

std::uint64_t symbol_hash(const Trace& trace, CallId call) {
  if (is_graph_launch(trace, call)) return mix(1, trace.calls.gpu_count[call]);
  const GpuEventId event = first_event_of(trace, call);
  std::uint64_t hash = mix(2, trace.gpu_events.name[event].value);
  hash = mix(hash, static_cast<std::uint64_t>(trace.gpu_events.grid_x[event]));
  hash = mix(hash, static_cast<std::uint64_t>(trace.gpu_events.grid_y[event]));
  return mix(hash, static_cast<std::uint64_t>(trace.gpu_events.grid_z[event]));
}

struct Symbols {
  std::vector<std::uint32_t> sequence;
  std::vector<std::uint32_t> event_count;  // GPU events of a launch, by symbol
};

Symbols to_symbols(const Trace& trace, const std::vector<Launch>& launches) {
  Symbols symbols;
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  for (const Launch& each : launches) {
    const auto next = static_cast<std::uint32_t>(ids.size());
    const auto [at, is_new] = ids.try_emplace(symbol_hash(trace, each.call), next);
    if (is_new) symbols.event_count.push_back(trace.calls.gpu_count[each.call]);
    symbols.sequence.push_back(at->second);
  }
  return symbols;
}

// Three distinct symbols: one or two kernels in turn are a loop inside something, not a step. A graph launch stands for
// the kernels in it.
bool is_rich_enough(const Symbols& symbols, const Period& period) {
  constexpr std::uint64_t kLeastDistinct = 3;
  std::uint64_t distinct = 0;
  for (const std::uint32_t symbol : symbols_of_cycle(symbols.sequence, period)) distinct += symbols.event_count[symbol];
  return distinct >= kLeastDistinct;
}

// The position in the cycle at which a step begins.
std::size_t choose_phase(const Trace& trace, const std::vector<Launch>& launches,
                         const std::vector<std::size_t>& begins, std::size_t length) {
  std::size_t chosen = 0;
  DurationNs longest = -1;
  bool chosen_copies = false;
  std::vector<DurationNs> pauses;
  for (std::size_t phase = 0; phase < length; ++phase) {
    pauses.clear();
    std::size_t copies = 0;
    for (const std::size_t begin : begins) {
      const std::size_t at = begin + phase;
      if (at >= launches.size()) continue;
      if (is_copy_from_host(trace, first_event_of(trace, launches[at].call))) ++copies;
      if (at > 0) pauses.push_back(launches[at].start_ns - launches[at - 1].end_ns);
    }
    const bool is_copy = copies > 0 && copies * 2 >= begins.size();  // in at least half of the cycles
    const DurationNs pause = std::max<DurationNs>(0, median_ns(pauses).value_or(0));
    if (is_copy < chosen_copies || (is_copy == chosen_copies && pause <= longest)) continue;
    chosen = phase;
    longest = pause;
    chosen_copies = is_copy;
  }
  return chosen;
}

std::string describe(const Period& period) {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "kernel period of %zu launches, match %.3f", period.length,
                period.match_ratio);
  return text.data();
}

}  // namespace

std::optional<StepMarks> detect_steps_by_kernels(const Trace& trace, ThreadId main) {
  const std::vector<Launch> launches = launches_in_order(trace);
  const Symbols symbols = to_symbols(trace, launches);
  const auto period = find_period(symbols.sequence, symbols.event_count.size());
  if (!period || !is_rich_enough(symbols, *period)) return std::nullopt;
  const std::vector<std::size_t> begins = align_cycles(symbols.sequence, *period);
  const std::size_t phase = choose_phase(trace, launches, begins, period->length);
  StepMarks found;
  found.source = StepSource::kDetectedKernels;
  found.detail = describe(*period);
  found.thread = main;
  for (std::size_t i = 0; i + 1 < begins.size() && begins[i + 1] + phase < launches.size(); ++i) {
    const Interval host{launches[begins[i] + phase].start_ns, launches[begins[i + 1] + phase].start_ns};
    if (host.length_ns() > 0) found.marks.push_back({static_cast<std::int64_t>(found.marks.size()), host, false});
  }
  if (found.marks.empty()) return std::nullopt;
  return found;
}

}  // namespace stepscope

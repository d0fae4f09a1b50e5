// Steps from the replays of one CUDA graph.
//
// A training step that was captured as a graph runs without the spans that mark steps: `Optimizer.step#` appears in the
// warm-up and the capture only, and steps cut there are the few that nobody asks for. So where most of the recorded GPU
// work comes from replays of one graph, and the marks found otherwise miss most of those replays, the replays are the
// steps.
//
// A step begins at the first copy from the host after the replay before, where most have one; else at the replay. What
// came before the first cut and after the last one has an end that nobody recorded. Several replays of one graph in a
// step (micro-batches) count as steps of their own: nothing recorded tells them apart.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "analyze/step_marks.h"

namespace stepscope {
namespace {

// With two replays there is one interval between them, which repeats nothing.
constexpr std::size_t kLeastReplays = 3;

struct GraphKey {
  std::int64_t graph = -1;  // the file's number; -1: it has none
  StringId first_event;
  std::uint32_t event_count = 0;
  bool operator==(const GraphKey&) const = default;
};
struct HashGraphKey {
  std::size_t operator()(const GraphKey& key) const {
    const std::size_t name =
        std::hash<std::uint64_t>()((std::uint64_t{key.first_event.value} << 32U) | key.event_count);
    return name ^ (std::hash<std::int64_t>()(key.graph) * 31);
  }
};

struct Graph {
  std::vector<CallId> replays;
  DurationNs work_ns = 0;
};

GraphKey key_of(const Trace& trace, CallId call) {
  const GpuEventId first = first_event_of(trace, call);
  const MaybeInt graph = trace.gpu_events.graph_id[first];
  if (graph.has_value()) return {graph.value(), {}, 0};
  return {-1, trace.gpu_events.name[first], trace.calls.gpu_count[call]};
}

DurationNs work_of(const Trace& trace, GpuEventId event) {
  if (trace.gpu_events.fault[event] != TimeFault::kNone) return 0;
  return trace.gpu_events.end_ns[event] - trace.gpu_events.start_ns[event];
}

// The graph whose replays hold more than half of all GPU work; empty when there is none.
std::vector<Interval> replays_of_most_work(const Trace& trace) {
  std::unordered_map<GraphKey, Graph, HashGraphKey> graphs;
  for (const CallId call : trace.calls.ids().ids()) {
    if (!is_graph_launch(trace, call)) continue;
    Graph& graph = graphs[key_of(trace, call)];
    graph.replays.push_back(call);
    for (const GpuEventId event : trace.gpu_events_of(call)) graph.work_ns += work_of(trace, event);
  }
  if (graphs.empty()) return {};
  DurationNs total = 0;
  for (const GpuEventId event : trace.gpu_events.ids().ids()) total += work_of(trace, event);
  std::vector<Interval> replays;
  for (const auto& [key, graph] : graphs) {
    if (graph.work_ns <= total / 2 || graph.replays.size() < kLeastReplays) continue;
    for (const CallId call : graph.replays) replays.push_back({trace.calls.start_ns[call], trace.calls.end_ns[call]});
  }
  std::sort(replays.begin(), replays.end(), [](Interval a, Interval b) { return a.start_ns < b.start_ns; });
  return replays;
}

bool copies_from_host(const Trace& trace, CallId call) {
  const GpuEventId first = first_event_of(trace, call);
  if (!first.has_value() || trace.gpu_events.kind[first] != GpuEventKind::kCopy) return false;
  const std::string_view name = trace.text(trace.gpu_events.name[first]);
  return name.find("HtoD") != std::string_view::npos || name.find("HostToDevice") != std::string_view::npos;
}

std::vector<TimeNs> copy_times(const Trace& trace) {
  std::vector<TimeNs> times;
  for (const CallId call : trace.calls.ids().ids()) {
    if (copies_from_host(trace, call)) times.push_back(trace.calls.start_ns[call]);
  }
  std::sort(times.begin(), times.end());
  return times;
}

// The first of as many copies before the first replay as stand before the second one; missing where they are further
// off than a step is long (then they belong to the warm-up).
std::optional<TimeNs> first_cut(const std::vector<TimeNs>& copies, const std::vector<Interval>& replays) {
  DurationNs shortest = std::numeric_limits<DurationNs>::max();
  for (std::size_t i = 1; i < replays.size(); ++i) {
    shortest = std::min(shortest, replays[i].start_ns - replays[i - 1].start_ns);
  }
  auto place = [&](TimeNs time) { return std::lower_bound(copies.begin(), copies.end(), time) - copies.begin(); };
  const auto each = place(replays[1].start_ns) - place(replays[0].end_ns);
  const auto before = place(replays[0].start_ns);
  if (each == 0 || before < each) return std::nullopt;
  const TimeNs cut = copies[static_cast<std::size_t>(before - each)];
  return replays[0].start_ns - cut < shortest ? std::optional(cut) : std::nullopt;
}

std::vector<TimeNs> cut_at(const Trace& trace, const std::vector<Interval>& replays) {
  const std::vector<TimeNs> copies = copy_times(trace);
  std::vector<TimeNs> at_copies;
  std::size_t copy_count = 0;
  for (std::size_t i = 1; i < replays.size(); ++i) {
    const auto copy = std::lower_bound(copies.begin(), copies.end(), replays[i - 1].end_ns);
    const bool has_copy = copy != copies.end() && *copy < replays[i].start_ns;
    at_copies.push_back(has_copy ? *copy : replays[i].start_ns);
    copy_count += has_copy ? 1 : 0;
  }
  if (copy_count * 2 > at_copies.size()) {
    if (const auto first = first_cut(copies, replays)) at_copies.insert(at_copies.begin(), *first);
    return at_copies;
  }
  std::vector<TimeNs> at_replays;
  for (const Interval& each : replays) at_replays.push_back(each.start_ns);
  return at_replays;
}

}  // namespace

std::optional<StepMarks> detect_steps_by_graph(const Trace& trace, ThreadId main, const StepMarks* known) {
  const std::vector<Interval> replays = replays_of_most_work(trace);
  if (replays.empty()) return std::nullopt;
  if (known != nullptr && !known->marks.empty()) {
    const Interval marked{known->marks.front().host.start_ns, known->marks.back().host.end_ns};
    const auto inside = std::count_if(replays.begin(), replays.end(), [&](Interval replay) {
      return marked.start_ns <= replay.start_ns && replay.start_ns < marked.end_ns;
    });
    if (static_cast<std::size_t>(inside) * 2 >= replays.size()) return std::nullopt;
  }
  StepMarks found;
  found.source = StepSource::kDetectedKernels;
  found.thread = main;
  found.detail = "replays of one graph, " + std::to_string(replays.size()) + " times";
  const std::vector<TimeNs> cuts = cut_at(trace, replays);
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Interval host{cuts[i], cuts[i + 1]};
    if (host.length_ns() > 0) found.marks.push_back({static_cast<std::int64_t>(found.marks.size()), host, false});
  }
  if (found.marks.empty()) return std::nullopt;
  return found;
}

}  // namespace stepscope

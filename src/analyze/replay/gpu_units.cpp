// One pass over the device's events up to the last one that the window launched.
#include "analyze/replay/gpu_units.h"

#include <algorithm>
#include <unordered_map>

#include "analyze/replay/profiler_cost.h"

namespace stepscope {
namespace {

class Units {
 public:
  Units(const ReplayInput& input, const ReplayWindow& window, const CallIndex& calls, ReplayGraph& graph)
      : input_(input), events_(input.trace.gpu_events), window_(window), calls_(calls), graph_(graph) {
    end_of_stream_.raw().resize(input.trace.streams.size());
    find_last_events();
    for (std::uint32_t d = 0; d < input.trace.devices.size(); ++d) collect(DeviceId(d));
    list_events();
    for (const UnitId unit : IdRange<UnitId>{0, static_cast<std::uint32_t>(graph.units.size())}.ids()) add_nodes(unit);
  }

 private:
  enum class Belongs : std::uint8_t { kNo, kWindow, kBefore, kUnlinked };

  Belongs belongs(GpuEventId event) const {
    if (!input_.timeline.counts(input_.trace, event)) return Belongs::kNo;
    if (!is_near(window_, events_.start_ns[event]) || !is_near(window_, input_.timeline.end_ns[event])) {
      return Belongs::kNo;
    }
    const CallId call = events_.call[event];
    if (calls_.find(call)) return Belongs::kWindow;
    const bool early = events_.start_ns[event] < window_.host.start_ns;
    const bool launched_before = call.has_value() ? input_.trace.calls.start_ns[call] < window_.host.start_ns : early;
    if (launched_before) {
      return input_.timeline.end_ns[event] > window_.host.start_ns ? Belongs::kBefore : Belongs::kNo;
    }
    return call.has_value() ? Belongs::kNo : Belongs::kUnlinked;
  }

  void find_last_events() {
    last_.raw().resize(input_.trace.devices.size(), 0);
    for (const ThreadId thread : input_.path.working_threads()) {
      for (const CallId call : calls_of_window(input_.trace, thread, window_.host).ids()) {
        for (const GpuEventId event : input_.trace.gpu_events_of(call)) {
          std::uint32_t& last = last_[events_.device[event]];
          last = std::max(last, event.value + 1);
        }
      }
    }
  }

  // One past the last event that may belong: launched in the window, or, without a launch, started in it.
  [[nodiscard]] std::uint32_t end_of_search(DeviceId device) const {
    const IdRange<GpuEventId> range = input_.trace.gpu_events_of_device[device];
    const auto starts = events_.start_ns.raw().begin();
    const auto after = std::lower_bound(starts + range.begin, starts + range.end, window_.host.end_ns);
    return std::max(last_[device], static_cast<std::uint32_t>(after - starts));
  }

  void collect(DeviceId device) {
    // The leading run without launches was queued before recording began.
    bool leading = true;
    for (const GpuEventId event :
         IdRange<GpuEventId>{input_.trace.gpu_events_of_device[device].begin, end_of_search(device)}.ids()) {
      if (events_.call[event].has_value()) leading = false;
      Belongs kind = belongs(event);
      if (kind == Belongs::kUnlinked && leading) kind = Belongs::kBefore;
      if (kind != Belongs::kNo) put(event, kind);
    }
  }

  // Events of one call form one unit; any other event is its own.
  void put(GpuEventId event, Belongs kind) {
    const CallId call = events_.call[event];
    if (kind == Belongs::kWindow && input_.trace.calls.gpu_count[call] > 1) {
      const auto [at, is_new] = shared_.try_emplace(call.value, UnitId(graph_.units.size()));
      if (!is_new) {
        blend(graph_.units[at->second], event);
        event_unit_.push_back({event, at->second});
        return;
      }
    }
    event_unit_.push_back({event, UnitId(graph_.units.size())});
    graph_.units.push_back(describe(event, kind));
  }

  // A graph of several sorts of work is no copy and no collective, whatever it begins with.
  void blend(GpuUnit& unit, GpuEventId event) const {
    if (input_.classes.of[event] == unit.kernel_class && classify_copy(input_.trace, event) == unit.copy) return;
    unit.kernel_class = KernelClass::kOther;
    unit.copy = CopyPath::kNone;
  }

  GpuUnit describe(GpuEventId event, Belongs kind) const {
    GpuUnit unit;
    unit.start_ns = unit.launch_ns = events_.start_ns[event];
    unit.kernel_class = input_.classes.of[event];
    unit.is_before = kind == Belongs::kBefore;
    if (unit.is_before) unit.stretch = 0;
    unit.call = events_.call[event];
    if (unit.call.has_value() && is_near(window_, input_.trace.calls.start_ns[unit.call]))
      unit.launch_ns = input_.trace.calls.start_ns[unit.call];
    unit.copy = classify_copy(input_.trace, event);
    if (kind == Belongs::kWindow) {
      const auto after = std::upper_bound(window_.cut_ns.begin(), window_.cut_ns.end(), unit.launch_ns);
      unit.stretch = static_cast<std::int32_t>(after - window_.cut_ns.begin());
    }
    return unit;
  }

  // unit_events grouped by unit, in order of start inside each.
  void list_events() {
    for (const auto& [event, unit] : event_unit_) ++graph_.units[unit].event_end;
    std::uint32_t first = 0;
    for (GpuUnit& unit : graph_.units.raw()) {
      unit.event_begin = first;
      first += unit.event_end;
      unit.event_end = unit.event_begin;
    }
    graph_.unit_events.resize(first);
    for (const auto& [event, unit] : event_unit_) graph_.unit_events[graph_.units[unit].event_end++] = event;
  }

  void add_nodes(UnitId id) {
    GpuUnit& unit = graph_.units[id];
    unit.start = graph_.add_node(unit.start_ns);
    unit.end_begin = static_cast<std::uint32_t>(graph_.ends.size());
    DurationNs gap_cost = 0;
    TimeNs busy_until = unit.start_ns;
    for (const GpuEventId event : graph_.events_of(unit)) {
      if (events_.start_ns[event] > busy_until) {
        gap_cost += std::min(kKernelGapCostNs, events_.start_ns[event] - busy_until);
      }
      busy_until = std::max(busy_until, input_.timeline.end_ns[event]);
      extend(id, event, gap_cost);
    }
    unit.end_end = static_cast<std::uint32_t>(graph_.ends.size());
    for (const UnitEndId end : graph_.ends_of(unit).ids()) {
      UnitEnd& at = graph_.ends[end];
      at.node = graph_.add_node(at.end_ns);
      const DurationNs length = at.end_ns - unit.start_ns;
      graph_.edges.push_back({unit.start, at.node, EdgeKind::kDuration, end.value, length, 0, length});
      unit.end_ns = std::max(unit.end_ns, at.end_ns);
    }
  }

  void extend(UnitId unit, GpuEventId event, DurationNs gap_cost) {
    const StreamId stream = events_.stream[event];
    const TimeNs end_ns = input_.timeline.end_ns[event];
    UnitEndId& known = end_of_stream_[stream];
    if (!known.has_value() || graph_.ends[known].unit != unit) {
      known = UnitEndId(graph_.ends.size());
      graph_.ends.push_back({unit, stream, {}, end_ns, gap_cost});
    } else if (end_ns >= graph_.ends[known].end_ns) {
      graph_.ends[known].end_ns = end_ns;
      graph_.ends[known].gap_cost_ns = gap_cost;
    }
  }

  const ReplayInput& input_;
  const GpuEvents& events_;
  const ReplayWindow& window_;
  const CallIndex& calls_;
  ReplayGraph& graph_;
  std::vector<std::pair<GpuEventId, UnitId>> event_unit_;
  std::unordered_map<std::uint32_t, UnitId> shared_;  // call of several events -> its unit
  Column<DeviceId, std::uint32_t> last_;              // one past the last event that the window launched
  Column<StreamId, UnitEndId> end_of_stream_;
};

}  // namespace

void add_units(const ReplayInput& input, const ReplayWindow& window, const CallIndex& calls, ReplayGraph& graph) {
  Units(input, window, calls, graph);
}

}  // namespace stepscope

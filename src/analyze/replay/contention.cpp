// Overlap by one merge over the device's events, then twins by sorting on what makes two events the same work.
//
// Measured on two H200s (tests/data/h200, the straggler pair): matrix products beside a waiting all-reduce took 1.8
// times as long. Comparing with the other rank's event at the same place, as the prototype of this did, needs its
// trace; layers of one network are alike, so nearly every kernel has a twin in its own.
#include "analyze/replay/contention.h"

#include <algorithm>
#include <tuple>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Most of it beside a collective, and as good as none of it: events in between say little about either speed.
constexpr double kBeside = 0.5;
constexpr double kAlone = 0.1;

struct Work {
  std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::uint32_t> same;
  std::uint32_t place = 0;  // among the same work of its step
  std::int32_t stretch = 0;
  UnitEndId end;
  DurationNs length_ns = 0;
  double beside_ratio = 0;
};

bool is_collective(const GpuUnit& unit) { return unit.kernel_class == KernelClass::kCommunication; }

class Contention {
 public:
  Contention(const ReplayInput& input, const ReplayGraph& graph) : input_(input), graph_(graph) {
    collectives_.raw().resize(input.trace.devices.size());
    std::vector<std::vector<Interval>> by_device(input.trace.devices.size());
    for (const GpuUnit& unit : graph.units.raw()) {
      if (is_collective(unit)) by_device[device_of(unit).value].push_back({unit.start_ns, unit.end_ns});
    }
    for (std::uint32_t d = 0; d < by_device.size(); ++d) {
      collectives_[DeviceId(d)] = union_of(std::move(by_device[d]));
    }
  }

  std::vector<DurationNs> find() {
    std::vector<DurationNs> longer(graph_.ends.size(), 0);
    list_work();
    for (std::size_t begin = 0; begin < work_.size();) {
      std::size_t end = begin;
      while (end < work_.size() && work_[end].same == work_[begin].same) ++end;
      compare({work_.data() + begin, end - begin}, longer);
      begin = end;
    }
    return longer;
  }

 private:
  [[nodiscard]] DeviceId device_of(const GpuUnit& unit) const {
    return input_.trace.gpu_events.device[graph_.events_of(unit).front()];
  }

  // Single kernels; the parts of a graph cannot be told apart by their launch.
  void list_work() {
    std::vector<std::size_t> next(collectives_.size(), 0);  // units come by (device, start)
    for (const GpuUnit& unit : graph_.units.raw()) {
      const IntervalSet& collectives = collectives_[device_of(unit)];
      if (collectives.empty() || is_collective(unit) || unit.copy != CopyPath::kNone) continue;
      if (unit.stretch == GpuUnit::kNoStretch || unit.is_before || unit.event_end - unit.event_begin != 1) continue;
      std::size_t& first = next[device_of(unit).value];
      while (first < collectives.size() && collectives[first].end_ns <= unit.start_ns) ++first;
      work_.push_back(describe(unit, std::span(collectives).subspan(first)));
    }
    const auto key = [](const Work& work) { return std::tie(work.same, work.stretch); };
    std::stable_sort(work_.begin(), work_.end(), [&](const Work& a, const Work& b) { return key(a) < key(b); });
    for (std::size_t w = 1; w < work_.size(); ++w) {
      if (key(work_[w]) == key(work_[w - 1])) work_[w].place = work_[w - 1].place + 1;
    }
  }

  [[nodiscard]] Work describe(const GpuUnit& unit, std::span<const Interval> later) const {
    const GpuEvents& events = input_.trace.gpu_events;
    const GpuEventId event = graph_.events_of(unit).front();
    const OpId op = events.op[event];
    const StringId shapes = op.has_value() ? input_.trace.ops.shapes[op] : StringId();
    Work work;
    work.same = {events.name[event].value, events.grid_x[event],  events.grid_y[event],
                 events.grid_z[event],     events.block_x[event], shapes.value};
    work.stretch = unit.stretch;
    work.end = UnitEndId(unit.end_begin);
    work.length_ns = unit.end_ns - unit.start_ns;
    DurationNs beside = 0;
    for (const Interval& collective : later) {
      if (collective.start_ns >= unit.end_ns) break;
      beside += std::min(unit.end_ns, collective.end_ns) - std::max(unit.start_ns, collective.start_ns);
    }
    if (work.length_ns > 0) work.beside_ratio = static_cast<double>(beside) / static_cast<double>(work.length_ns);
    return work;
  }

  static void compare(std::span<Work> same, std::vector<DurationNs>& longer) {
    std::vector<DurationNs> alone;
    std::vector<std::pair<std::uint32_t, DurationNs>> alone_at;  // by place
    for (const Work& work : same) {
      if (work.beside_ratio > kAlone) continue;
      alone.push_back(work.length_ns);
      alone_at.emplace_back(work.place, work.length_ns);
    }
    if (alone.empty()) return;
    std::sort(alone_at.begin(), alone_at.end());
    const DurationNs anywhere = *median_ns(alone);
    for (const Work& work : same) {
      if (work.beside_ratio < kBeside) continue;
      std::vector<DurationNs> here;
      auto twin = std::lower_bound(alone_at.begin(), alone_at.end(), std::pair(work.place, DurationNs{0}));
      for (; twin != alone_at.end() && twin->first == work.place; ++twin) here.push_back(twin->second);
      const DurationNs own = median_ns(here).value_or(anywhere);
      longer[work.end.value] = std::max<DurationNs>(0, work.length_ns - own);
    }
  }

  const ReplayInput& input_;
  const ReplayGraph& graph_;
  Column<DeviceId, IntervalSet> collectives_;
  std::vector<Work> work_;  // by (same, stretch, start)
};

}  // namespace

std::vector<DurationNs> find_contention(const ReplayInput& input, const ReplayGraph& graph) {
  return Contention(input, graph).find();
}

}  // namespace stepscope

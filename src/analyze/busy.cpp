// One pass over the sorted GPU events of a device gives every union at once: a union of intervals sorted by start needs
// only the furthest end so far. Sets are kept as intervals only where a later pass needs them (all, compute,
// kernels, communication, copies); a union by kind is a running sum.
//
// Exposed communication is communication minus compute (kernels that are no communication); exposed copies are copies
// minus kernels. Both are differences of two sorted sets, linear again.
#include "analyze/busy.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace stepscope {
namespace {

// Length of a union, fed in order of start.
class RunningUnion {
 public:
  void add(TimeNs start, TimeNs end) {
    if (end <= start || end <= end_) return;
    length_ += end - std::max(start, end_);
    end_ = end;
  }
  [[nodiscard]] DurationNs length_ns() const { return length_; }

 private:
  TimeNs end_ = std::numeric_limits<TimeNs>::min();
  DurationNs length_ = 0;
};

// The union itself, fed in order of start.
void append(IntervalSet& set, TimeNs start, TimeNs end) {
  if (end <= start) return;
  if (!set.empty() && start <= set.back().end_ns) {
    set.back().end_ns = std::max(set.back().end_ns, end);
  } else {
    set.push_back({start, end});
  }
}

// Sums of durations have no bound by the window: a hostile file may overlap a thousand events of a year each.
void add_saturating(DurationNs& sum, DurationNs length) {
  if (__builtin_add_overflow(sum, length, &sum)) sum = std::numeric_limits<DurationNs>::max();
}

struct Sets {
  IntervalSet compute, kernels, communication, copies;
};

bool is_copy(KernelClass kernel_class) { return kernel_class == KernelClass::kCopy; }
bool is_set(KernelClass kernel_class) { return kernel_class == KernelClass::kSet; }

class DeviceSweep {
 public:
  DeviceSweep(const Trace& trace, const GpuTimeline& timeline, const KernelClasses& classes, Interval window)
      : trace_(trace), timeline_(timeline), classes_(classes), window_(window) {}

  void add(GpuEventId id) {
    if (!timeline_.counts(trace_, id)) return;
    const TimeNs start = std::max(trace_.gpu_events.start_ns[id], window_.start_ns);
    raw_.add(start, std::min(trace_.gpu_events.end_ns[id], window_.end_ns));
    const TimeNs end = std::min(timeline_.end_ns[id], window_.end_ns);
    if (trace_.gpu_events.start_ns[id] >= window_.end_ns || timeline_.end_ns[id] < window_.start_ns) return;
    const KernelClass kernel_class = classes_.of[id];
    ++busy_.count_by_kind[static_cast<std::size_t>(kernel_class)];
    if (end <= start) return;
    by_kind_[static_cast<std::size_t>(kernel_class)].add(start, end);
    append(busy_.busy, start, end);
    add_to_sets(kernel_class, start, end);
    add_sums(id, end - start);
  }

  // Leaves the lists by step to fill: communication alone is handed out for them.
  DeviceBusy finish(const Steps& steps, IntervalSet& exposed_communication);

 private:
  void add_to_sets(KernelClass kernel_class, TimeNs start, TimeNs end) {
    if (is_copy(kernel_class)) return append(sets_.copies, start, end);
    if (is_set(kernel_class)) return;
    append(sets_.kernels, start, end);
    append(kernel_class == KernelClass::kCommunication ? sets_.communication : sets_.compute, start, end);
  }
  void add_sums(GpuEventId id, DurationNs length) {
    add_saturating(busy_.gpu_sum_ns, length);
    if (trace_.gpu_events.kind[id] != GpuEventKind::kKernel) return;
    const TensorCores tensor_cores = classes_.tensor_cores_of(trace_, id);
    if (tensor_cores == TensorCores::kUsed) add_saturating(busy_.tensor_core_ns, length);
    if (tensor_cores == TensorCores::kNotUsed) add_saturating(busy_.simt_matmul_ns, length);
  }

  const Trace& trace_;
  const GpuTimeline& timeline_;
  const KernelClasses& classes_;
  Interval window_;
  DeviceBusy busy_;
  RunningUnion raw_;
  std::array<RunningUnion, kKernelClassCount> by_kind_;
  Sets sets_;
};

// What lies in each step; both sorted and disjoint.
std::vector<DurationNs> length_by_step(const IntervalSet& set, const Steps& steps) {
  std::vector<DurationNs> lengths(steps.steps.size(), 0);
  std::size_t first = 0;
  for (std::size_t k = 0; k < steps.steps.size(); ++k) {
    const Interval step = steps.steps[k].gpu;
    while (first < set.size() && set[first].end_ns <= step.start_ns) ++first;
    for (std::size_t i = first; i < set.size() && set[i].start_ns < step.end_ns; ++i) {
      lengths[k] += std::min(set[i].end_ns, step.end_ns) - std::max(set[i].start_ns, step.start_ns);
    }
  }
  return lengths;
}

DeviceBusy DeviceSweep::finish(const Steps& steps, IntervalSet& exposed_communication) {
  busy_.window_ns = steps.recorded_ns();
  busy_.gpu_busy_raw_ns = raw_.length_ns();
  // Work that began in a step and ended after it, where nothing else was recorded.
  if (!steps.unrecorded.empty()) busy_.busy = subtract(busy_.busy, steps.unrecorded);
  busy_.gpu_busy_ns = length_ns(busy_.busy);
  busy_.idle_ns = busy_.window_ns - busy_.gpu_busy_ns;
  for (std::size_t i = 0; i < kKernelClassCount; ++i) busy_.busy_by_kind_ns[i] = by_kind_[i].length_ns();
  IntervalSet exposed = subtract(sets_.communication, sets_.compute);
  busy_.communication_ns = length_ns(sets_.communication);
  busy_.exposed_communication_ns = length_ns(exposed);
  busy_.hidden_communication_ns = busy_.communication_ns - busy_.exposed_communication_ns;
  busy_.exposed_copy_ns = length_ns(subtract(sets_.copies, sets_.kernels));
  exposed_communication = std::move(exposed);
  return std::move(busy_);
}

bool is_within(const IntervalSet& set, TimeNs time_ns) {
  const auto next = std::upper_bound(set.begin(), set.end(), time_ns,
                                     [](TimeNs time, const Interval& each) { return time < each.end_ns; });
  return next != set.end() && next->start_ns <= time_ns;
}

}  // namespace

std::vector<std::size_t> busiest_devices(const std::vector<DeviceBusy>& busy, std::size_t most,
                                         std::optional<std::size_t> always) {
  std::vector<std::size_t> chosen(busy.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (chosen.size() <= most) return chosen;
  const auto last = chosen.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(chosen.begin(), last, chosen.end(), [&](std::size_t a, std::size_t b) {
    return busy[a].gpu_busy_ns != busy[b].gpu_busy_ns ? busy[a].gpu_busy_ns > busy[b].gpu_busy_ns : a < b;
  });
  chosen.erase(last, chosen.end());
  const bool missing =
      always && *always < busy.size() && std::find(chosen.begin(), chosen.end(), *always) == chosen.end();
  if (missing) chosen.push_back(*always);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<DeviceBusy> compute_busy(const Trace& trace, const GpuTimeline& timeline, const KernelClasses& classes,
                                     const Steps& steps, std::optional<std::int64_t> asked) {
  std::vector<DeviceBusy> busy;
  std::vector<IntervalSet> exposed;  // communication alone, by device
  std::optional<std::size_t> asked_at;
  for (const DeviceId device : trace.devices.ids().ids()) {
    if (trace.gpu_events_of_device[device].empty()) continue;
    DeviceSweep sweep(trace, timeline, classes, steps.window);
    for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
      if (!is_within(steps.unrecorded, trace.gpu_events.start_ns[id])) sweep.add(id);
    }
    if (asked && trace.devices.number[device] == *asked) asked_at = busy.size();
    busy.push_back(sweep.finish(steps, exposed.emplace_back()));
    busy.back().device = device;
  }
  for (const std::size_t at : busiest_devices(busy, kMostDevicesInFull, asked_at)) {
    busy[at].busy_by_step_ns = length_by_step(busy[at].busy, steps);
    busy[at].exposed_communication_by_step_ns = length_by_step(exposed[at], steps);
  }
  return busy;
}

}  // namespace stepscope

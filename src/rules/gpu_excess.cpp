// One walk over the device's events sorts them by what they are; a second over these compares. See gpu_excess.h.
#include "rules/gpu_excess.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Nearly all of a step's computing: what is left cannot be what made the step longer.
constexpr double kNearlyAll = 0.8;
// One kernel that is so much of what is slower has more to do: sizes need not show in its grid.
constexpr double kOneAlone = 0.75;

using Key = std::tuple<std::uint32_t, std::uint32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t>;

struct SameWork {
  KernelClass kernel_class = KernelClass::kOther;
  std::vector<DurationNs> elsewhere_ns;
  std::int64_t count = 0;  // in the step
  DurationNs sum_ns = 0;   // likewise
  [[nodiscard]] DurationNs expected_ns() const { return median_ns(elsewhere_ns).value_or(0) * count; }
};
using Works = std::map<Key, SameWork>;

Key key_of(const Trace& trace, GpuEventId id) {
  const GpuEvents& events = trace.gpu_events;
  const OpId op = events.op[id];
  const StringId shapes = op.has_value() ? trace.ops.shapes[op] : StringId();
  return {events.name[id].value, shapes.value,      events.grid_x[id],
          events.grid_y[id],     events.grid_z[id], events.block_x[id]};
}

DurationNs& excess_of(KernelClass kernel_class, GpuExcess& out) {
  switch (kernel_class) {
    case KernelClass::kCommunication:
      return out.collectives_ns;
    case KernelClass::kCopy:
    case KernelClass::kSet:
      return out.copies_ns;
    default:
      return out.kernels_ns;
  }
}

Works sort_by_work(const RuleInput& input, DeviceId device, std::size_t step, GpuExcess& out) {
  const Trace& trace = input.trace;
  const Facts& facts = input.facts;
  Works works;
  std::vector<std::int64_t> counts(facts.steps.steps.size(), 0);
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (!facts.timeline.counts(trace, id)) continue;
    const auto at = facts.steps.find_by_gpu_time(trace.gpu_events.start_ns[id]);
    if (!at) continue;
    ++counts[*at];
    SameWork& work = works[key_of(trace, id)];
    work.kernel_class = facts.classes.of[id];
    const DurationNs length_ns = facts.timeline.end_ns[id] - trace.gpu_events.start_ns[id];
    if (*at != step) {
      work.elsewhere_ns.push_back(length_ns);
      continue;
    }
    ++work.count;
    work.sum_ns += length_ns;
  }
  out.event_count = counts[step];
  counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(step));
  out.typical_count = median_ns(counts).value_or(0);
  return works;
}

bool computes(KernelClass kernel_class) {
  return kernel_class != KernelClass::kCommunication && kernel_class != KernelClass::kCopy &&
         kernel_class != KernelClass::kSet;
}

void find_most_grown(const Works& works, std::size_t other_steps, GpuExcess& out) {
  std::unordered_map<std::uint32_t, DurationNs> by_name;
  for (const auto& [key, work] : works) {
    const DurationNs elsewhere_ns = std::accumulate(work.elsewhere_ns.begin(), work.elsewhere_ns.end(), DurationNs{0});
    DurationNs& grown = by_name[std::get<0>(key)];
    grown += work.sum_ns - elsewhere_ns / static_cast<DurationNs>(std::max<std::size_t>(1, other_steps));
  }
  for (const auto& [key, work] : works) {
    const DurationNs grown = by_name[std::get<0>(key)];
    if (grown <= out.most_grown_ns) continue;
    out.most_grown_ns = grown;
    out.most_grown = StringId(std::get<0>(key));
  }
}

}  // namespace

GpuExcess find_gpu_excess(const RuleInput& input, DeviceId device, std::size_t step) {
  GpuExcess out;
  const Works works = sort_by_work(input, device, step, out);
  find_most_grown(works, input.facts.steps.steps.size() - 1, out);
  DurationNs computing_ns = 0, known_ns = 0, expected_ns = 0;
  for (const auto& [key, work] : works) {
    if (computes(work.kernel_class)) computing_ns += work.sum_ns;
    if (work.count == 0 || work.elsewhere_ns.empty()) continue;
    const DurationNs expected = work.expected_ns();
    excess_of(work.kernel_class, out) += work.sum_ns - expected;
    if (!computes(work.kernel_class)) continue;
    known_ns += work.sum_ns;
    expected_ns += expected;
  }
  if (expected_ns <= 0) return out;
  out.slowdown = static_cast<double>(known_ns) / static_cast<double>(expected_ns);
  const double half_as_slow = 1 + (out.slowdown - 1) / 2;
  DurationNs slow_ns = 0, largest_ns = 0;
  for (const auto& [key, work] : works) {
    if (work.count == 0 || work.elsewhere_ns.empty() || !computes(work.kernel_class)) continue;
    if (static_cast<double>(work.sum_ns) >= half_as_slow * static_cast<double>(work.expected_ns())) {
      slow_ns += work.sum_ns;
      largest_ns = std::max(largest_ns, work.sum_ns);
    }
  }
  out.is_even = static_cast<double>(slow_ns) >= kNearlyAll * static_cast<double>(computing_ns) &&
                static_cast<double>(largest_ns) < kOneAlone * static_cast<double>(slow_ns);
  return out;
}

}  // namespace stepscope

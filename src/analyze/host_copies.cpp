// Copies are few beside kernels, so one pass that looks at the kind of each event finds them all. The exposed part
// needs the kernels' union, which is built only when there is a pageable copy.
#include "analyze/host_copies.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::int64_t kBigEnoughForBandwidth = 1'000'000;  // below, the fixed cost of a copy (about 2 us) shows

bool in_window(const Steps& steps, TimeNs start_ns) { return steps.counts_at_gpu_time(start_ns); }

IntervalSet kernel_union(const Trace& trace, const GpuTimeline& timeline, DeviceId device, Interval window) {
  std::vector<Interval> kernels;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (trace.gpu_events.kind[id] != GpuEventKind::kKernel) continue;
    const Interval at{trace.gpu_events.start_ns[id], timeline.end_ns[id]};
    if (at.end_ns > window.start_ns && at.start_ns < window.end_ns) kernels.push_back(at);
  }
  return union_of(std::move(kernels));
}

}  // namespace

bool is_pageable_to_device(std::string_view copy_name) {
  return copy_name.find("HtoD") != std::string_view::npos && copy_name.find("Pageable ->") != std::string_view::npos;
}

PageableCopies compute_pageable_copies(const Trace& trace, const GpuTimeline& timeline, const Steps& steps,
                                       DeviceId device) {
  const GpuEvents& events = trace.gpu_events;
  PageableCopies out;
  std::vector<Interval> copies;
  DurationNs longest = -1;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (events.kind[id] != GpuEventKind::kCopy || !timeline.counts(trace, id)) continue;
    const std::string_view name = trace.text(events.name[id]);
    if (name.find("HtoD") == std::string_view::npos) continue;
    const Interval at{events.start_ns[id], timeline.end_ns[id]};
    const std::int64_t bytes = events.bytes[id].value_or(0);
    if (!is_pageable_to_device(name)) {
      if (bytes >= kBigEnoughForBandwidth && at.length_ns() > 0) {
        const double speed = static_cast<double>(bytes) * 1e9 / static_cast<double>(at.length_ns());
        out.pinned_bytes_per_s = std::max(out.pinned_bytes_per_s.value_or(0), speed);
      }
      continue;
    }
    if (!in_window(steps, at.start_ns)) continue;
    ++out.count;
    out.bytes += static_cast<double>(bytes);
    out.gpu_sum_ns += at.length_ns();
    copies.push_back(at);
    if (at.length_ns() > longest) {
      longest = at.length_ns();
      out.largest = id;
    }
  }
  if (!copies.empty()) {
    const IntervalSet inside = clip(union_of(std::move(copies)), steps.window);
    out.exposed_ns = length_ns(subtract(inside, kernel_union(trace, timeline, device, steps.window)));
  }
  return out;
}

std::vector<CopyTotal> compute_copy_totals(const Trace& trace, const GpuTimeline& timeline, const Steps& steps,
                                           DeviceId device) {
  const GpuEvents& events = trace.gpu_events;
  std::vector<CopyTotal> totals;  // a handful of names: found by looking at each
  std::vector<DurationNs> longest;
  for (const GpuEventId id : trace.gpu_events_of_device[device].ids()) {
    if (events.kind[id] != GpuEventKind::kCopy || !timeline.counts(trace, id)) continue;
    if (!in_window(steps, events.start_ns[id])) continue;
    const StringId name = events.name[id];
    auto found = std::find_if(totals.begin(), totals.end(), [&](const CopyTotal& t) { return t.name == name; });
    if (found == totals.end()) {
      if (totals.size() >= 64) continue;  // hostile files may name every copy differently
      totals.push_back({name, 0, 0, 0, std::nullopt});
      longest.push_back(-1);
      found = totals.end() - 1;
    }
    const DurationNs length = timeline.end_ns[id] - events.start_ns[id];
    ++found->count;
    found->bytes += static_cast<double>(events.bytes[id].value_or(0));
    found->gpu_sum_ns += length;
    DurationNs& most = longest[static_cast<std::size_t>(found - totals.begin())];
    if (length > most) {
      most = length;
      found->largest = id;
    }
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const CopyTotal& a, const CopyTotal& b) { return a.gpu_sum_ns > b.gpu_sum_ns; });
  return totals;
}

}  // namespace stepscope

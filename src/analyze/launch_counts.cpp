#include "analyze/launch_counts.h"

#include <algorithm>
#include <limits>

#include "analyze/launches.h"
#include "analyze/sort_runs.h"

namespace stepscope {

LaunchCounts LaunchCounts::launches_of(const Trace& trace) {
  LaunchCounts work;
  for (const CallId call : trace.calls.ids().ids()) {
    if (launches_work(trace, call)) work.times_.push_back(trace.calls.start_ns[call]);
  }
  sort_runs(work.times_);
  return work;
}

LaunchCounts LaunchCounts::operators_of(const Trace& trace) {
  LaunchCounts work;
  for (const OpId op : trace.ops.ids().ids()) work.times_.push_back(trace.ops.start_ns[op]);
  sort_runs(work.times_);
  return work;
}

LaunchCounts LaunchCounts::launches_or_operators_of(const Trace& trace, ThreadId thread) {
  LaunchCounts work = launches_of(trace);
  if (!work.times_.empty() || !thread.has_value()) return work;
  for (const OpId op : trace.ops_of_thread[thread].ids()) work.times_.push_back(trace.ops.start_ns[op]);
  return work;
}

std::int64_t LaunchCounts::count_in(Interval host) const {
  return std::lower_bound(times_.begin(), times_.end(), host.end_ns) -
         std::lower_bound(times_.begin(), times_.end(), host.start_ns);
}

std::int64_t LaunchCounts::least_in(const std::vector<Interval>& pieces) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Interval& each : pieces) least = std::min(least, count_in(each));
  return least;
}

TimeNs last_host_event(const Trace& trace, ThreadId thread, TimeNs from, TimeNs until) {
  TimeNs last = from;
  // Rows by start; those that start after `until` are skipped by search.
  const auto look_at = [&](const auto& table, auto rows, auto is_left_out) {
    const auto& starts = table.start_ns.raw();
    const auto begin = starts.begin() + rows.begin;
    auto at = std::upper_bound(begin, starts.begin() + rows.end, until);
    while (at != begin && *(at - 1) >= from) {
      --at;
      const auto row = static_cast<std::size_t>(at - starts.begin());
      const TimeNs end = table.end_ns.raw()[row];
      if (end <= until && !is_left_out(row)) last = std::max(last, end);
    }
  };
  look_at(trace.calls, trace.calls_of_thread[thread],
          [&](std::size_t row) { return trace.calls.kind.raw()[row] == ApiKind::kDeviceSync; });
  look_at(trace.ops, trace.ops_of_thread[thread], [](std::size_t) { return false; });
  look_at(trace.frames, trace.frames_of_thread[thread], [](std::size_t) { return false; });
  return last;
}

}  // namespace stepscope

// A wait ends when its collective does, give or take what it takes to wake a thread on a busy machine. Of several that
// run at once the last one counts, and those that end while it runs.
#include "analyze/host_collectives.h"

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::string_view kPrefix = "gloo:";
constexpr DurationNs kWakeNs = 2'000'000;
constexpr DurationNs kWakeShare = 10;            // of the wait, a tenth
constexpr DurationNs kLeastStretchNs = 100'000;  // shorter ones are of no account, and a file may have millions

template <class Table, class Id>
void gather(const Trace& trace, const Table& table, IdRange<Id> rows, const Steps& steps,
            std::vector<HostCollective>& out) {
  for (const Id id : rows.ids()) {
    if (!trace.text(table.name[id]).starts_with(kPrefix)) continue;
    const Interval at{table.start_ns[id], table.end_ns[id]};
    if (at.end_ns <= steps.window.start_ns || at.start_ns >= steps.window.end_ns) continue;
    out.push_back({table.name[id], at, steps.find_by_host_time(at.start_ns), 0});
  }
}

// Stretches of the training thread in which it runs nothing of torch's.
std::vector<Interval> silent_stretches(const Steps& steps, const HostPath& path) {
  std::vector<HostSlice> slices;
  path.slices(steps.main_thread, steps.window.start_ns, steps.window.end_ns, slices);
  std::vector<Interval> out;
  for (const HostSlice& slice : slices) {
    if (slice.label != HostLabel::kPython && slice.label != HostLabel::kNoEvent) continue;
    if (!out.empty() && out.back().end_ns == slice.start_ns) {
      out.back().end_ns = slice.end_ns;
    } else {
      out.push_back({slice.start_ns, slice.end_ns});
    }
  }
  std::erase_if(out, [](const Interval& each) { return each.length_ns() < kLeastStretchNs; });
  return out;
}

// `ended`: those that end in the stretch or soon after it, the last first.
void take_waits(Interval stretch, const std::vector<HostCollective*>& ended, std::vector<Interval>& waits) {
  TimeNs covered_from = stretch.end_ns;
  for (HostCollective* each : ended) {
    const Interval part{std::max(each->at.start_ns, stretch.start_ns), std::min(each->at.end_ns, stretch.end_ns)};
    if (part.length_ns() <= 0) continue;
    if (each->at.end_ns < covered_from - std::max(kWakeNs, part.length_ns() / kWakeShare)) return;
    covered_from = std::min(covered_from, part.start_ns);
    each->waited_ns += part.length_ns();
    waits.push_back(part);
  }
}

}  // namespace

HostCollectives find_host_collectives(const Trace& trace, const Steps& steps, const HostPath& path) {
  HostCollectives out;
  if (!steps.main_thread.has_value()) return out;
  const ProcessId process = trace.threads.process[steps.main_thread];
  for (const ThreadId thread : trace.threads.ids().ids()) {
    if (trace.threads.process[thread] != process) continue;
    gather(trace, trace.ops, trace.ops_of_thread[thread], steps, out.all);
    gather(trace, trace.spans, trace.spans_of_thread[thread], steps, out.all);
  }
  if (out.all.empty()) return out;
  std::stable_sort(out.all.begin(), out.all.end(),
                   [](const HostCollective& a, const HostCollective& b) { return a.at.start_ns < b.at.start_ns; });
  std::vector<HostCollective*> by_end;
  for (HostCollective& each : out.all) by_end.push_back(&each);
  std::stable_sort(by_end.begin(), by_end.end(),
                   [](const HostCollective* a, const HostCollective* b) { return a->at.end_ns < b->at.end_ns; });
  std::vector<Interval> waits;
  std::vector<HostCollective*> ended;
  for (const Interval& stretch : silent_stretches(steps, path)) {
    const auto from = std::partition_point(
        by_end.begin(), by_end.end(), [&](const HostCollective* each) { return each->at.end_ns <= stretch.start_ns; });
    const auto to = std::partition_point(
        from, by_end.end(), [&](const HostCollective* each) { return each->at.end_ns <= stretch.end_ns + kWakeNs; });
    ended.assign(std::make_reverse_iterator(to), std::make_reverse_iterator(from));
    take_waits(stretch, ended, waits);
  }
  out.waits = union_of(std::move(waits));
  return out;
}

}  // namespace stepscope

// Regions of one thread are a union of intervals, looked up by bisection.
#include "analyze/replay/regions.h"

#include "base/overlap.h"

namespace stepscope {

void HostRegions::add(ThreadId thread, Interval at) {
  if (at.end_ns <= at.start_ns) return;
  if (by_thread_.size() <= thread.value) by_thread_.resize(thread.value + 1);
  by_thread_[thread.value].push_back(at);
}

void HostRegions::finish() {
  for (IntervalSet& set : by_thread_) set = union_of(std::move(set));
}

const IntervalSet* HostRegions::find(ThreadId thread) const {
  return thread.value < by_thread_.size() && !by_thread_[thread.value].empty() ? &by_thread_[thread.value] : nullptr;
}

bool HostRegions::contains(ThreadId thread, TimeNs at_ns) const { return overlap_ns(thread, {at_ns, at_ns + 1}) > 0; }

DurationNs HostRegions::overlap_ns(ThreadId thread, Interval at) const {
  const IntervalSet* set = find(thread);
  return set == nullptr ? 0 : stepscope::overlap_ns(*set, at);
}

void cut_host(const ReplayGraph& graph, const HostRegions& regions, double kept, Edits& edits) {
  if (regions.empty()) return;
  edits.kept_work.resize(graph.work.size(), 1.0);
  for (std::uint32_t w = 0; w < graph.work.size(); ++w) {
    const HostWork& work = graph.work[WorkId(w)];
    const DurationNs inside = regions.overlap_ns(work.thread, work.at);
    if (inside <= 0) continue;
    const double share = static_cast<double>(inside) / static_cast<double>(work.at.length_ns());
    edits.kept_work[w] *= 1 - share * (1 - kept);
  }
}

void cut_waits(const ReplayInput& input, const HostRegions& regions, Edits& edits) {
  if (regions.empty()) return;
  for (std::size_t w = 0; w < input.waits.size(); ++w) {
    const CallId call = input.waits[w].call;
    if (regions.contains(input.trace.calls.thread[call], input.trace.calls.start_ns[call])) {
      edits.unwait(input.waits.size(), w);
    }
  }
}

bool launched_in(const ReplayInput& input, const GpuUnit& unit, const HostRegions& regions) {
  return unit.call.has_value() && regions.contains(input.trace.calls.thread[unit.call], unit.launch_ns);
}

void remove_unit(const ReplayGraph& graph, UnitId unit, Edits& edits) {
  edits.tighten(graph, unit);
  for (const UnitEndId end : graph.ends_of(graph.units[unit]).ids()) {
    edits.shorten(graph, end, all_lanes(graph.ends[end].end_ns - graph.units[unit].start_ns));
  }
}

void remove_regions(const ReplayInput& input, const ReplayGraph& graph, const HostRegions& regions, Edits& edits) {
  if (regions.empty()) return;
  cut_host(graph, regions, 0, edits);
  cut_waits(input, regions, edits);
  for (std::uint32_t u = 0; u < graph.units.size(); ++u) {
    if (launched_in(input, graph.units[UnitId(u)], regions)) remove_unit(graph, UnitId(u), edits);
  }
}

bool matches_pattern(std::string_view text, std::string_view pattern) {
  // The usual two-pointer walk: after a mismatch the latest '*' takes one more character.
  std::size_t at = 0, p = 0, star = std::string_view::npos, retry = 0;
  while (at < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = at;
    } else if (p < pattern.size() && pattern[p] == text[at]) {
      ++p;
      ++at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

MatchedOperators match_operators(const ReplayInput& input, const ReplayWindow& window,
                                 const std::vector<std::string>& patterns) {
  enum : std::uint8_t { kUnknown, kNo, kYes };
  const Ops& ops = input.trace.ops;
  std::vector<std::uint8_t> verdict(input.trace.strings.size(), kUnknown);  // each name is matched once
  MatchedOperators matched;
  for (const ThreadId thread : input.path.working_threads()) {
    const auto range = input.trace.ops_of_thread[thread];
    const auto begin = ops.start_ns.raw().begin();
    const auto first = std::lower_bound(begin + range.begin, begin + range.end, window.host.start_ns);
    for (auto id = static_cast<std::uint32_t>(first - begin); id < range.end; ++id) {
      const OpId op(id);
      if (ops.start_ns[op] >= window.host.end_ns) break;
      std::uint8_t& known = verdict[ops.name[op].value];
      if (known == kUnknown) {
        const std::string_view name = input.trace.text(ops.name[op]);
        const bool any =
            std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) { return matches_pattern(name, p); });
        known = any ? kYes : kNo;
      }
      if (known != kYes) continue;
      ++matched.count;
      matched.regions.add(thread, {ops.start_ns[op], ops.end_ns[op]});
    }
  }
  matched.regions.finish();
  return matched;
}

}  // namespace stepscope

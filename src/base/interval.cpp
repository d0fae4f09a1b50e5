// Sweeps over sorted interval sets.
#include "base/interval.h"

#include <algorithm>

namespace stepscope {

IntervalSet union_of(std::vector<Interval> intervals) {
  auto by_start = [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), by_start)) {
    std::sort(intervals.begin(), intervals.end(), by_start);
  }
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (next.end_ns <= next.start_ns) continue;
    if (kept > 0 && next.start_ns <= intervals[kept - 1].end_ns) {
      intervals[kept - 1].end_ns = std::max(intervals[kept - 1].end_ns, next.end_ns);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
  return intervals;
}

IntervalSet clip(std::span<const Interval> set, Interval window) {
  IntervalSet inside;
  for (const Interval& each : set) {
    const Interval part{std::max(each.start_ns, window.start_ns), std::min(each.end_ns, window.end_ns)};
    if (part.start_ns < part.end_ns) inside.push_back(part);
  }
  return inside;
}

IntervalSet complement(std::span<const Interval> set, Interval window) {
  const Interval whole[] = {window};
  return subtract(window.start_ns < window.end_ns ? std::span<const Interval>(whole) : std::span<const Interval>(),
                  set);
}

IntervalSet subtract(std::span<const Interval> a, std::span<const Interval> b) {
  IntervalSet rest;
  std::size_t first = 0;
  for (const Interval& each : a) {
    TimeNs at = each.start_ns;
    while (first < b.size() && b[first].end_ns <= at) ++first;
    for (std::size_t i = first; i < b.size() && b[i].start_ns < each.end_ns; ++i) {
      if (b[i].start_ns > at) rest.push_back({at, b[i].start_ns});
      at = std::max(at, b[i].end_ns);
    }
    if (at < each.end_ns) rest.push_back({at, each.end_ns});
  }
  return rest;
}

IntervalSet intersect(std::span<const Interval> a, std::span<const Interval> b) {
  IntervalSet both;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const Interval part{std::max(a[i].start_ns, b[j].start_ns), std::min(a[i].end_ns, b[j].end_ns)};
    if (part.start_ns < part.end_ns) both.push_back(part);
    (a[i].end_ns < b[j].end_ns) ? ++i : ++j;
  }
  return both;
}

DurationNs length_ns(std::span<const Interval> set) {
  DurationNs sum = 0;
  for (const Interval& each : set) sum += each.length_ns();
  return sum;
}

}  // namespace stepscope

// Sets of half-open time intervals [start_ns, end_ns): union, complement, intersection, difference.
//
// The accounts of the report (busy, idle, exposed) are lengths of such sets, so they must be exact: integer
// nanoseconds, no tolerance. A set is a sorted vector of disjoint, non-empty intervals that do not touch.
// An interval tree was rejected: every use is one sweep over sorted data.
#pragma once

#include <span>
#include <vector>

#include "base/time.h"

namespace stepscope {

struct Interval {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;

  [[nodiscard]] DurationNs length_ns() const { return end_ns - start_ns; }
  bool operator==(const Interval&) const = default;
};

using IntervalSet = std::vector<Interval>;

// Union of intervals in any order; empty ones vanish. O(n log n), O(n) when already sorted by start.
[[nodiscard]] IntervalSet union_of(std::vector<Interval> intervals);
// The parts of `set` inside `window`.
[[nodiscard]] IntervalSet clip(std::span<const Interval> set, Interval window);
// The parts of `window` not covered by `set`.
[[nodiscard]] IntervalSet complement(std::span<const Interval> set, Interval window);
// a minus b, and a and b.
[[nodiscard]] IntervalSet subtract(std::span<const Interval> a, std::span<const Interval> b);
[[nodiscard]] IntervalSet intersect(std::span<const Interval> a, std::span<const Interval> b);
// Sum of the lengths.
[[nodiscard]] DurationNs length_ns(std::span<const Interval> set);

}  // namespace stepscope

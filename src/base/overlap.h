// How much of an interval a set covers.
//
// By itself and not in interval.h: it looks at the part of the set that the interval meets and at nothing else, so
// asking for each of many steps costs no walk over the whole set, as clip would.
#pragma once

#include <algorithm>

#include "base/interval.h"

namespace stepscope {

[[nodiscard]] inline DurationNs overlap_ns(std::span<const Interval> set, Interval with) {
  DurationNs sum = 0;
  auto at =
      std::partition_point(set.begin(), set.end(), [&](const Interval& each) { return each.end_ns <= with.start_ns; });
  for (; at != set.end() && at->start_ns < with.end_ns; ++at) {
    sum += std::min(at->end_ns, with.end_ns) - std::max(at->start_ns, with.start_ns);
  }
  return sum;
}

}  // namespace stepscope

// Places in the user's program, as a finding names them: the operator path, the Python line, the span.
#pragma once

#include <string>
#include <vector>

#include "rules/finding.h"

namespace stepscope {

// "aten::index > aten::nonzero at train.py(52): hook", "in span forward", or empty when nothing is known.
[[nodiscard]] std::string describe_place(const HostPlace& place);
[[nodiscard]] std::string describe_call_place(const Trace& trace, CallId call);

struct Site {
  std::string where;      // describe_place, or the call's name when that is empty
  std::string operators;  // as HostPlace has them
  bool has_line = false;
  std::int64_t count = 0;
  DurationNs call_sum_ns = 0;
  Interval example;  // the longest call
};
// The places of the calls, the most frequent first. Of more than 512 calls every n-th is looked up and counts n.
[[nodiscard]] std::vector<Site> group_by_site(const Trace& trace, const std::vector<CallId>& calls);

}  // namespace stepscope

// How often and how long a named span, frame or operator runs inside the recorded steps.
#pragma once

#include <optional>

#include "analyze/steps.h"

namespace stepscope {

struct NamedStretches {
  std::int64_t count = 0;  // in the recorded steps, all threads
  DurationNs sum_ns = 0;
  std::optional<DurationNs> median_ns;
  Interval longest;
};

[[nodiscard]] NamedStretches compute_named_stretches(const Trace& trace, const Steps& steps, StringId name);

}  // namespace stepscope

// Why one step takes longer than the others: what it is split into, part by part against the others' medians, and of
// the largest part what grew in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/finding.h"

namespace stepscope {

struct OutlierCause {
  std::string what;                 // "a checkpoint is written"
  std::string_view explained_by;    // id of the finding that covers it, if that was made
  std::vector<std::string> advice;  // never empty
  DurationNs excess_ns = 0;         // what it takes more than in the others
  std::optional<Interval> at{};     // its place, where it has one
  std::string detail{};             // a sentence more of it, or empty
  bool is_part = true;              // one of the parts a step is split into, no event that lies over them
  bool is_busy = false;             // of the GPU's work
  bool is_checkpoint = false;
  bool is_sum = false;  // no part is half of it: `what` says all, the rest is of the largest part
};

// What grew against the others, largest first; each `what` once.
[[nodiscard]] std::vector<OutlierCause> find_grown_parts(const RuleInput& input, std::size_t step);

// What made the step longer by excess_ns. Of several parts the largest, with the name of what grew in it.
[[nodiscard]] OutlierCause find_outlier_cause(const RuleInput& input, std::size_t step, DurationNs excess_ns);

}  // namespace stepscope

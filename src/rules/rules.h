// The list of rules, and the order in which findings are shown.
#pragma once

#include <span>
#include <vector>

#include "rules/finding.h"

namespace stepscope {

struct Rule {
  std::string_view id;
  std::optional<Finding> (*find)(const RuleInput&);
  // Rests on how long GPU events lasted: not run when durations that cannot be true make up over 1 % of busy time.
  bool needs_durations = true;
};

[[nodiscard]] std::span<const Rule> rules();

// Runs all rules. Order: incomplete-data and launch-blocking first (launch-blocking silences the rest), then
// faults, notes, information; inside a severity by predicted saving.
[[nodiscard]] std::vector<Finding> find_all(const RuleInput& input);

// The order described above, for lists put together elsewhere.
void sort_for_reading(std::vector<Finding>& findings);

// One sentence or two in plain words: the answer.
[[nodiscard]] std::string write_verdict(const RuleInput& input, const std::vector<Finding>& findings);

}  // namespace stepscope

// Long stretches in which the training thread runs Python without launching anything, for host-pause and
// garbage-collection: the same measurement, two names.
#pragma once

#include <optional>
#include <vector>

#include "rules/costs.h"

namespace stepscope {

struct LongPauses {
  // Costliest first. Without a GPU a site's time is that of the typical step: 0 where it is in under half of these.
  std::vector<PauseSite> sites;
  DurationNs per_step_ns = 0;  // of all of them
  Cost cost;                   // their part of what removing all pauses saves
  double share = 0;            // of the step; from idle time when there is no re-simulation
};

// Pauses that are garbage collection, or those that are not.
[[nodiscard]] LongPauses gather_pauses(const RuleInput& input, bool garbage_collection);

// Of the long gaps in which such a pause lies, by length, the share that a hidden wait opened: the GPU had nothing left
// to do because the line before the pause had waited for it. 0 without such gaps.
[[nodiscard]] double share_opened_by_hidden_waits(const RuleInput& input);

}  // namespace stepscope

// Runs that were recorded without a GPU: what the training thread does with its own time.
//
// There the rules that look at what a GPU waits for have nothing to look at, and a slow data loader is still the
// commonest fault. The measure is the share of the steps that the training thread itself spends so. What mending it
// saves is that time, as recorded: no re-simulation is made, since other cores may be as busy as this one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/costs.h"

namespace stepscope {

// The training thread's time in each recorded step, labelled, without holes; what it waits for a collective is labelled
// as synchronization. Empty where a GPU was recorded.
[[nodiscard]] std::vector<std::vector<HostSlice>> host_only_slices(const RuleInput& input);
// Exactly so much in the median step, and its share of that: one slow first step says nothing of the others.
[[nodiscard]] Cost host_only_cost(const RuleInput& input, std::vector<DurationNs> by_step_ns);

}  // namespace stepscope

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

// The training thread's time in each recorded step, labelled, without holes. Empty where a GPU was recorded.
[[nodiscard]] std::vector<std::vector<HostSlice>> host_only_slices(const RuleInput& input);
// Exactly so much in the median step, and its share of that: one slow first step says nothing of the others.
[[nodiscard]] Cost host_only_cost(const RuleInput& input, std::vector<DurationNs> by_step_ns);

// What took more time in one step than in the others (their median), by name: of the training thread's spans, else of
// its operators, else of its Python frames, the one that took most more; of nested ones the innermost that holds nine
// tenths of that. A name's number at its end (`batch 17`) is left out. Missing where no name takes half of `excess_ns`
// more.
struct GrownEvent {
  enum class Kind : std::uint8_t { kSpan, kOperator, kFrame };
  std::string name;
  Kind kind = Kind::kOperator;
  bool is_loader = false, is_checkpoint = false;  // by its name
  DurationNs excess_ns = 0;
  Interval longest;  // in that step
};
[[nodiscard]] std::optional<GrownEvent> find_grown_event(const RuleInput& input, std::size_t step, DurationNs excess_ns,
                                                         bool with_operators = true);

}  // namespace stepscope

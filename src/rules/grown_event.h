// What a slow step has more of, by the names of the program's own spans, operators and frames: of the host's time, or
// of the GPU's work that was launched meanwhile.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/costs.h"

namespace stepscope {

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

// What the GPU did more in one step for a span of the training thread, else for a kind of operator, that most other
// steps do not have: a validation, a logged histogram. What all have grows with the batch, and is no cause of its own.
// Missing where none covers half of `excess_ns`. `longest` is from the first to the last of that work on the GPU.
[[nodiscard]] std::optional<GrownEvent> find_added_gpu_work(const RuleInput& input, DeviceId device, std::size_t step,
                                                            DurationNs excess_ns);

// The optimizer runs in every Nth step, in no other, and N is the same from the first of the recorded steps to the
// last: gradient accumulation. `steps` are those.
struct Accumulation {
  std::size_t every = 0;
  std::vector<std::size_t> steps;  // ascending, at least two
};
[[nodiscard]] std::optional<Accumulation> find_accumulation(const RuleInput& input);

}  // namespace stepscope

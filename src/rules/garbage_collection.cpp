// garbage-collection: Python's collector stops the training thread for milliseconds, and the GPU runs dry.
//
// Symptom: long silent stretches on the training thread. Evidence: a frame of `gc.collect`, or of a gc callback,
// covers them; without recorded stacks nothing tells them from other Python work, and host-pause names them.
// Threshold: 5 % of the step in stretches of at least 5 ms; the planted collections cost 93 %, healthy recordings 0.
// False alarm: none known; a wanted collection between epochs is rare enough to stay under 5 %.
#include "rules/pauses.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kFault = 0.05;

}  // namespace

std::optional<Finding> find_garbage_collection(const RuleInput& input) {
  const LongPauses pauses = gather_pauses(input, true);
  if (pauses.share < kFault) return std::nullopt;
  const PauseSite& worst = pauses.sites.front();
  Finding finding;
  finding.id = "garbage-collection";
  finding.severity = Severity::kFault;
  finding.title = "Python's garbage collector stops the training thread for " + format_duration(pauses.per_step_ns) +
                  " a step (" + shortened(worst.what, 80) + ")";
  finding.evidence.push_back({count_of(worst.count, "stretch", "stretches") + " of at least 5 ms; one lasts " +
                                  format_duration(worst.example.length_ns()) + ".",
                              worst.example});
  finding.advice = {"Remove gc.collect() from the step: grep -rn 'gc.collect'",
                    "After set-up: import gc; gc.collect(); gc.freeze()  (long-lived objects are then passed over)",
                    "Or gc.disable() and gc.collect() once every few thousand steps, on all ranks in the same step"};
  set_cost(finding, input, pauses.cost, "Without the collections");
  finding.saving_as_recorded = input.facts.ledger.is_host_only;
  return finding;
}

}  // namespace stepscope

// straggler, from one rank's trace: this rank waits inside collectives for another that comes late.
//
// Symptom: collectives far longer than their bytes need. Evidence: duration minus bytes / the best bus bandwidth seen
// in the trace; only waits under which nothing computes count. Threshold: 10 % of the median step (a healthy pair of
// ranks: under 2 %; the planted one 37 %). Which rank is late, one trace cannot say: give all ranks' files.
// False alarms: collectives of several groups whose links differ (within a node, between nodes) share one "best
// bandwidth"; a trace in which every collective waits has no unhindered one, and is then exposed-communication.
#include "analyze/collectives.h"
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kFault = 0.10;

}  // namespace

std::optional<Finding> find_straggler(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || !has_steps(input)) return std::nullopt;
  if (share_of_window(input, busy->exposed_communication_ns) < kFault) return std::nullopt;
  const LoneWaits waits =
      compute_lone_waits(input.trace, input.facts.timeline, input.facts.classes, input.facts.steps, busy->device);
  const DurationNs wait = waits.median_exposed_wait_ns.value_or(0);
  const double share = static_cast<double>(wait) / static_cast<double>(recorded_step_ns(input));
  if (share < kFault || !waits.longest_wait || !waits.best_bus_bytes_per_s) return std::nullopt;

  Finding finding;
  finding.id = "straggler";
  finding.severity = Severity::kFault;
  const GpuEventId event = *waits.longest_wait;
  finding.title = "This rank waits " + format_duration(wait) + " a step inside collectives: another rank comes late";
  const Interval at{input.trace.gpu_events.start_ns[event], input.facts.timeline.end_ns[event]};
  finding.evidence.push_back({short_kernel_name(input.trace.text(input.trace.gpu_events.name[event])) + " takes " +
                                  format_duration(at.length_ns()) + ", of which " +
                                  format_duration(waits.longest_wait_ns) + " are no transfer (at " +
                                  format_bytes(*waits.best_bus_bytes_per_s) + "/s, the best bandwidth of this trace).",
                              at});
  finding.advice = {"stepscope report rank0.json.gz rank1.json.gz ...  names the late rank and what it did meanwhile",
                    "Then look at that rank alone: its data loader, its pauses, its GPU clocks"};
  set_cost(finding, input, cost_of(input, Estimate{wait, wait, wait}), "Without the wait");
  return finding;
}

}  // namespace stepscope

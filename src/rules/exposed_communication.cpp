// exposed-communication: collectives run while nothing computes.
//
// Symptom: NCCL kernels alone on the GPU. Evidence: the union of communication minus the union of compute. Threshold:
// 5 % of the window after the straggler's waits are taken off (1.5 % on healthy ranks, 37 % on a rank that waits), and
// 5 % of the step saved where that can be predicted.
// Without a GPU in the file: the training thread waits for a collective of gloo and does nothing else meanwhile, by the
// same threshold; how much of that is waiting for a late rank, only the recordings of all ranks tell.
// False alarm: the last bucket of gradients cannot overlap with anything; it is under 2 % with buckets of 25 MB.
#include <algorithm>

#include "rules/host_only.h"
#include "rules/overlap_advice.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kFault = 0.05;

std::optional<Finding> find_on_host(const RuleInput& input) {
  const HostCollectives& collectives = input.facts.host_collectives;
  if (collectives.waits.empty() || !has_steps(input)) return std::nullopt;
  std::vector<DurationNs> by_step_ns;
  for (const Step& step : input.facts.steps.steps) by_step_ns.push_back(length_ns(clip(collectives.waits, step.gpu)));
  const Cost cost = host_only_cost(input, std::move(by_step_ns));
  if (*cost.ratio < kFault) return std::nullopt;
  const auto& longest =
      *std::max_element(collectives.all.begin(), collectives.all.end(),
                        [](const HostCollective& a, const HostCollective& b) { return a.waited_ns < b.waited_ns; });
  const auto count =
      static_cast<std::int64_t>(std::count_if(collectives.all.begin(), collectives.all.end(),
                                              [](const HostCollective& each) { return each.step.has_value(); }));
  Finding finding;
  finding.id = "exposed-communication";
  finding.severity = Severity::kFault;
  finding.title = "The training thread waits " + format_duration(cost.saving->mid_ns) + " a step (" +
                  format_percent(*cost.ratio) + ") for collectives of gloo and does nothing else meanwhile";
  finding.evidence.push_back({count_of(count, "collective", "collectives") + " in " +
                                  count_of(static_cast<std::int64_t>(input.facts.steps.steps.size()), "step", "steps") +
                                  "; the longest wait, " + format_duration(longest.waited_ns) + ", is in " +
                                  std::string(input.trace.text(longest.name)) + ".",
                              longest.at});
  finding.advice = {
      "Give the recordings of all ranks at once, stepscope report FOLDER: they tell a late rank from a slow transfer",
      "DDP(..., bucket_cap_mb=10): sooner begun than with 25, the default; no_sync() where gradients are accumulated"};
  set_cost(finding, input, cost, "Without these waits");
  finding.saving_as_recorded = true;
  return finding;
}

}  // namespace

std::optional<Finding> find_exposed_communication(const RuleInput& input) {
  if (input.facts.ledger.is_host_only) return find_on_host(input);
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr) return std::nullopt;
  DurationNs exposed = busy->exposed_communication_ns;
  Cost cost = cost_of(input, Transform::kCommunicationOverlapped);
  const Finding* straggler = find_found(input, "straggler");
  if (straggler != nullptr && straggler->saving) {
    const DurationNs wait = straggler->saving->mid_ns;
    exposed -= static_cast<DurationNs>(static_cast<double>(wait) * step_count(input));
    const WhatIf* overlapped = input.facts.what_ifs.find(Transform::kCommunicationOverlapped);
    if (cost.saving && overlapped != nullptr)
      cost = cost_of(input, difference(*cost.saving, Estimate{wait, wait, wait}), *overlapped);
  }
  const double share = share_of_window(input, exposed);
  if (std::min(share, cost.ratio.value_or(share)) < kFault) return std::nullopt;

  Finding finding;
  finding.id = "exposed-communication";
  finding.severity = Severity::kFault;
  finding.title = "Communication runs alone for " + describe_per_step(input, exposed) + " (" + format_percent(share) +
                  "); nothing computes under it";
  finding.evidence.push_back({"Communication takes " + describe_per_step(input, busy->communication_ns) + ", " +
                                  format_duration(per_step(input, busy->hidden_communication_ns)) +
                                  " of it under compute.",
                              std::nullopt});
  finding.advice = overlap_advice(input, busy->device);
  set_cost(finding, input, cost, "With communication under compute");
  return finding;
}

}  // namespace stepscope

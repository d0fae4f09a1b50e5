// blocking-copy: the batch is copied from pageable memory, slowly, and the host waits for it.
//
// Symptom: a long host-to-device copy, the GPU without kernels under it, the host inside the call. Evidence: copies
// that the driver itself names "Pageable -> Device". Threshold: at least 1 a step; a note while it costs less than
// 1 % of the step, since a few bytes of a scalar are copied so in many healthy loops. The saving runs the copy at
// pinned bandwidth and lets it overlap: pricing the wait alone gave 2.2 of 16.8 ms on resnet_pageable.
// False alarm: data that must be made in the step (a learning rate as a tensor), which the note is for.
#include "analyze/host_copies.h"
#include "rules/costs.h"
#include "rules/host_sites.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kCopiesAStep = 1;
constexpr double kFault = 0.01;

void add_evidence(const RuleInput& input, const PageableCopies& copies, GpuEventId largest, Finding& finding) {
  const Interval at{input.trace.gpu_events.start_ns[largest], input.facts.timeline.end_ns[largest]};
  std::string text = "The copies move " + format_bytes(copies.bytes / step_count(input)) + " a step in " +
                     format_duration(per_step(input, copies.gpu_sum_ns));
  if (copies.gpu_sum_ns > 0) {
    text += " (" + format_bytes(copies.bytes * 1e9 / static_cast<double>(copies.gpu_sum_ns)) + "/s";
    if (copies.pinned_bytes_per_s) text += "; pinned copies here: " + format_bytes(*copies.pinned_bytes_per_s) + "/s";
    text += ")";
  }
  finding.evidence.push_back({text + ".", at});
  finding.evidence.push_back(
      {"No kernel runs under " + format_duration(per_step(input, copies.exposed_ns)) + " of it a step.", std::nullopt});
}

}  // namespace

std::optional<Finding> find_blocking_copy(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || !has_steps(input)) return std::nullopt;
  const PageableCopies copies =
      compute_pageable_copies(input.trace, input.facts.timeline, input.facts.steps, busy->device);
  const double a_step = static_cast<double>(copies.count) / step_count(input);
  if (a_step < kCopiesAStep || !copies.largest) return std::nullopt;

  const Cost cost = cost_of(input, Transform::kBlockingCopiesAsync);
  const double share = cost.ratio.value_or(share_of_window(input, copies.exposed_ns));
  Finding finding;
  finding.id = "blocking-copy";
  finding.severity = share >= kFault ? Severity::kFault : Severity::kNote;
  const CallId call = input.trace.gpu_events.call[*copies.largest];
  std::string where = call.has_value() ? describe_call_place(input.trace, call) : std::string();
  if (where.empty()) where = "A copy call";
  finding.title = where + " copies from pageable memory and waits for it, " + times_a_step(a_step) + ", " +
                  format_bytes(copies.bytes / step_count(input)) + " in " +
                  format_duration(per_step(input, copies.gpu_sum_ns));
  add_evidence(input, copies, *copies.largest, finding);
  finding.advice = {"DataLoader(..., pin_memory=True), or batch.pin_memory() where the batch is made",
                    "batch.to(device, non_blocking=True)"};
  set_cost(finding, input, cost, "With pinned memory and copies that do not block");
  return finding;
}

}  // namespace stepscope

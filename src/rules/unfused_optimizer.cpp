// unfused-optimizer: the optimizer launches a few tiny kernels for each parameter.
//
// Symptom: over a thousand kernels of a microsecond inside Optimizer.step; the host cannot launch them as fast as
// they run. Evidence: kernels launched inside Optimizer.step. Threshold: at least 200 a step with a median under 20 us
// (56 on foreach recordings, whose kernels take 45 us; 304 and 1,192 on unfused ones): 20 us is four launches, so
// shorter kernels wait for the host. A fault from 1 % of the step on, else a note.
// False alarm: an optimizer of one's own that cannot be fused. Kernels replayed from a CUDA graph are not counted.
#include <algorithm>

#include "analyze/kernel_totals.h"
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kKernelsAStep = 200;
constexpr DurationNs kShort = 20'000;
constexpr double kFault = 0.01;

// "Optimizer.step#AdamW.step" -> "AdamW.step".
std::string optimizer_name(const Trace& trace) {
  constexpr std::string_view kPrefix = "Optimizer.step#";
  for (const SpanId id : trace.spans.ids().ids()) {
    const std::string_view name = trace.text(trace.spans.name[id]);
    if (name.starts_with(kPrefix)) return shortened(name.substr(kPrefix.size()), 80);
  }
  return "The optimizer";
}

// The replay's middle has three quarters of what fused kernels save (0.64 of the optimizer's GPU time, measured on an
// H200). foreach=True saves none of that, so the low end goes down to it.
Cost down_to_foreach(Cost cost, DurationNs gpu_sum_ns) {
  if (!cost.saving) return cost;
  const auto fused_only = static_cast<DurationNs>(0.75 * 0.64 * static_cast<double>(gpu_sum_ns));
  Estimate& saving = *cost.saving;
  saving.low_ns = std::clamp<DurationNs>(saving.mid_ns - fused_only, 0, saving.low_ns);
  return cost;
}

void add_guess(Finding& finding) {
  finding.evidence.push_back(
      {"The saving is a guess: the low end is foreach=True, whose kernels run as long in sum; "
       "fused ones took 0.36 of that on an H200.",
       std::nullopt});
}

}  // namespace

std::optional<Finding> find_unfused_optimizer(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || !has_steps(input)) return std::nullopt;
  const OptimizerKernels kernels = compute_optimizer_kernels(input.trace, input.facts.timeline, input.facts.classes,
                                                             input.facts.steps, busy->device);
  const double a_step = static_cast<double>(kernels.count) / step_count(input);
  if (a_step < kKernelsAStep || !kernels.median_ns || *kernels.median_ns >= kShort) return std::nullopt;

  const Cost cost = down_to_foreach(cost_of(input, Transform::kOptimizerFused), per_step(input, kernels.gpu_sum_ns));
  Finding finding;
  finding.id = "unfused-optimizer";
  finding.severity = cost.ratio.value_or(1) >= kFault ? Severity::kFault : Severity::kNote;
  finding.title = optimizer_name(input.trace) + " launches " + format_count(a_step) + " kernels a step of " +
                  format_duration(*kernels.median_ns) + " each";
  finding.evidence.push_back({"Together they run for " + format_duration(per_step(input, kernels.gpu_sum_ns)) +
                                  " a step; launching them takes longer than running them.",
                              std::nullopt});
  const DurationNs idle = idle_blamed_on(input, HostLabel::kOptimizer);
  if (idle > 0) {
    finding.evidence.push_back({"The GPU is idle for " + format_duration(per_step(input, idle)) +
                                    " a step while the host is inside Optimizer.step (as recorded).",
                                std::nullopt});
  }
  finding.advice = {"torch.optim.AdamW(model.parameters(), ..., fused=True), likewise Adam, SGD, Adagrad",
                    "Where there is no fused version: foreach=True"};
  add_guess(finding);
  set_cost(finding, input, cost, "With a fused optimizer");
  return finding;
}

}  // namespace stepscope

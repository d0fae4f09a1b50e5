// compute-bound: a verdict, not a fault. The GPU computes nearly all of the time, so only faster kernels help.
//
// Evidence: the GPU floor (host work 0) against the step without the profiler, less communication and copies that run
// alone: a GPU that copies for half of its time is busy, not bound by compute. Threshold: 0.80, and no fault that
// contradicts it. Recordings that are compute-bound reach 0.91 and more; of the others those without a fault of their
// own stay under 0.60. The host part of 0.80 to 0.85 is below what host-overhead calls a fault, so no loop is called
// both. MFU stands beside it, since a busy GPU may still be slow.
#include "analyze/kernel_totals.h"
#include "rules/costs.h"
#include "rules/matmul_advice.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kBound = 0.80;
// Recomputed FLOPs worth a sentence. Whole-model checkpointing recomputes a quarter at most; none does 0.
constexpr double kRecomputed = 0.02;
constexpr double kCommunicationAlone = 0.10;
constexpr double kCopiesAlone = 0.20;  // where exposed-copy becomes a fault

// Slow kernels are compute all the same, and a rare outlier says nothing about the ordinary step.
bool contradicts(const Finding& finding) {
  return finding.severity == Severity::kFault && finding.id != "no-tensor-cores" && finding.id != "odd-matmul-sizes" &&
         finding.id != "outlier-step";
}

double floor_ratio(const RuleInput& input) {
  const WhatIf* floor = input.facts.what_ifs.find(Transform::kHostZero);
  const auto step = input.facts.what_ifs.unprofiled_step();
  if (floor == nullptr || !step || step->mid_ns <= 0) return typical_busy_ratio(input);
  return static_cast<double>(floor->step_unprofiled.mid_ns) / static_cast<double>(step->mid_ns);
}

double recomputed_ratio(const RuleInput& input) {
  const Flops& flops = input.facts.flops;
  return flops.total > 0 ? flops.recomputed / flops.total : 0;
}

void add_recomputed(const RuleInput& input, Finding& finding) {
  const double share = recomputed_ratio(input);
  if (share < kRecomputed) return;
  const Efficiency& efficiency = input.facts.efficiency;
  std::string text = format_percent(share) +
                     " of the FLOPs are recomputed in the backward pass (activation checkpointing): time for memory.";
  if (efficiency.hfu_ratio && efficiency.mfu_ratio) {
    text += " The GPU does " + format_percent(*efficiency.hfu_ratio) + " of its peak (HFU), " +
            format_percent(*efficiency.mfu_ratio) + " (MFU) without them.";
  }
  text += " Without recomputing, a step would take up to " + format_percent(share) + " less, a guess by FLOPs.";
  finding.evidence.push_back({text, std::nullopt});
}

void add_advice(const RuleInput& input, std::vector<std::string>& advice) {
  if (input.facts.flops.dominant_dtype == "fp32") advice.emplace_back("torch.autocast('cuda', torch.bfloat16)");
  advice.emplace_back("torch.compile(model): fuses elementwise work and normalisation");
  if (recomputed_ratio(input) >= kRecomputed) {
    advice.emplace_back("Where memory allows, checkpoint fewer layers (torch.utils.checkpoint): each is computed once");
  }
  advice.emplace_back("stepscope ops FILE --by name --sort self_device_time_total: the operators to make faster");
}

}  // namespace

std::optional<Finding> find_compute_bound(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || busy->gpu_sum_ns <= 0) return std::nullopt;
  for (const Finding& finding : input.found) {
    if (contradicts(finding)) return std::nullopt;
  }
  if (median_hides_window(input)) return std::nullopt;
  const double communication = share_of_window(input, busy->exposed_communication_ns);
  const double copies = share_of_window(input, busy->exposed_copy_ns);
  if (communication >= kCommunicationAlone || copies >= kCopiesAlone) return std::nullopt;
  const double bound = floor_ratio(input) - communication;
  if (bound < kBound) return std::nullopt;

  Finding finding;
  finding.id = "compute-bound";
  finding.severity = Severity::kInformation;
  finding.title = "The GPU is busy " + describe_busy(input) + "; only faster or fewer kernels help";
  std::string text;
  int shown = 0;
  for (const KernelTotal& total :
       compute_kernel_totals(input.trace, input.facts.timeline, input.facts.classes, input.facts.steps, busy->device)) {
    text += (text.empty() ? "" : ", ") + short_kernel_name(input.trace.text(total.name)) + " " +
            format_percent(static_cast<double>(total.gpu_sum_ns) / static_cast<double>(busy->gpu_sum_ns));
    if (++shown == 3) break;
  }
  finding.evidence.push_back({"Most GPU time: " + text + ".", std::nullopt});
  add_efficiency(input, finding);
  if (find_found(input, "odd-matmul-sizes") == nullptr) add_matmul_sizes(input, finding);
  add_recomputed(input, finding);
  add_advice(input, finding.advice);
  return finding;
}

}  // namespace stepscope

// compute-bound: a verdict, not a fault. The GPU computes nearly all of the time, so only faster kernels help.
//
// Evidence: the GPU floor (host work 0) against the step without the profiler, less communication and copies that run
// alone: a GPU that copies for half of its time is busy, not bound by compute. Threshold: 0.80, and no fault that
// contradicts it. Recordings that are compute-bound reach 0.91 and more; of the others those without a fault of their
// own stay under 0.60. The host part of 0.80 to 0.85 is below what host-overhead calls a fault, so no loop is called
// both. MFU stands beside it, since a busy GPU may still be slow. The floor alone does not decide: it keeps every wait
// that is no host work (for another GPU, for an event, for a read at the step's end), so the GPU must be busy for 0.80
// of the step too. Copies within the device are its own memory work and count as compute.
#include <algorithm>

#include "analyze/kernel_totals.h"
#include "rules/costs.h"
#include "rules/matmul_advice.h"
#include "rules/rule_list.h"
#include "rules/wording.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kBound = 0.80;
// Recomputed FLOPs worth a sentence. Whole-model checkpointing recomputes a quarter at most; none does 0.
constexpr double kRecomputed = 0.02;
constexpr double kCommunicationAlone = 0.10;
constexpr double kWorthAdvice = 0.10;
constexpr double kMostlyMatmuls = 0.50;
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

// Busy in the median step, over the step without the profiler where that is estimated.
double best_busy_ratio(const RuleInput& input) {
  const double recorded = typical_busy_ratio(input);
  const auto step = input.facts.what_ifs.unprofiled_step();
  if (!step || step->mid_ns <= 0) return recorded;
  const auto busy_ns = static_cast<double>(median_ns(input.facts.main_busy()->busy_by_step_ns).value_or(0));
  return std::max(recorded, busy_ns / static_cast<double>(step->mid_ns));
}

bool is_within_device(std::string_view copy_name) {
  return copy_name.find("DtoD") != copy_name.npos || copy_name.find("DeviceToDevice") != copy_name.npos;
}

// Copies within the device under which nothing else runs; between devices they are called PtoP.
DurationNs own_copies_alone_ns(const RuleInput& input) {
  const DeviceBusy& busy = *input.facts.main_busy();
  if (share_of_window(input, busy.exposed_copy_ns) < kWorthAdvice) return 0;
  std::vector<Interval> own;
  std::vector<Interval> others;
  for (const GpuEventId id : input.trace.gpu_events_of_device[busy.device].ids()) {
    if (!input.facts.timeline.counts(input.trace, id)) continue;
    const Interval at{input.trace.gpu_events.start_ns[id], input.facts.timeline.end_ns[id]};
    const KernelClass kind = input.facts.classes.of[id];
    const bool is_own =
        kind == KernelClass::kCopy && is_within_device(input.trace.text(input.trace.gpu_events.name[id]));
    if (is_own) own.push_back(at);
    if (!is_own && kind != KernelClass::kSet) others.push_back(at);
  }
  const IntervalSet in_window = clip(union_of(std::move(own)), input.facts.steps.window);
  const IntervalSet unhidden = subtract(in_window, union_of(std::move(others)));
  return std::min(busy.exposed_copy_ns, length_ns(subtract(unhidden, input.facts.steps.unrecorded)));
}

double share_of_busy(const RuleInput& input, DurationNs part_ns) {
  const DurationNs busy_ns = input.facts.main_busy()->gpu_busy_ns;
  return busy_ns > 0 ? static_cast<double>(part_ns) / static_cast<double>(busy_ns) : 0;
}

double share_of_kinds(const RuleInput& input, std::initializer_list<KernelClass> kinds) {
  DurationNs sum = 0;
  for (const KernelClass kind : kinds) sum += input.facts.main_busy()->busy_by_kind_ns[static_cast<std::size_t>(kind)];
  return share_of_busy(input, sum);
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

void advise_matmuls(const RuleInput& input, double share, std::vector<std::string>& advice) {
  const DeviceBusy& busy = *input.facts.main_busy();
  const auto matmul_ns = busy.busy_by_kind_ns[static_cast<std::size_t>(KernelClass::kMatmul)];
  const std::string opening = "Matmuls are " + format_percent(share) + " of GPU time: ";
  if (busy.tensor_core_ns * 2 > matmul_ns) {
    advice.push_back(opening + "sizes that are multiples of 64, larger batches; they use tensor cores");
  } else if (input.facts.flops.dominant_dtype != "fp32") {
    advice.push_back(opening + "bf16 or TF32 puts them on tensor cores, with sizes that are multiples of 8");
  }
}

// Each kind of work that is worth a tenth of the GPU's time has its own advice.
void add_advice(const RuleInput& input, DurationNs own_copies_ns, std::vector<std::string>& advice) {
  if (input.facts.flops.dominant_dtype == "fp32") advice.emplace_back("torch.autocast('cuda', torch.bfloat16)");
  const double fusible =
      share_of_kinds(input, {KernelClass::kElementwise, KernelClass::kNormalisation, KernelClass::kReduction});
  if (fusible >= kWorthAdvice) {
    advice.emplace_back("torch.compile(model): fuses elementwise work and normalisation");
  }
  const double matmuls = share_of_kinds(input, {KernelClass::kMatmul});
  if (matmuls >= kMostlyMatmuls) advise_matmuls(input, matmuls, advice);
  if (share_of_kinds(input, {KernelClass::kConvolution}) >= kWorthAdvice) {
    advice.emplace_back("Convolutions: model.to(memory_format=torch.channels_last), torch.backends.cudnn.benchmark");
  }
  if (share_of_kinds(input, {KernelClass::kAttention}) >= kWorthAdvice) {
    advice.emplace_back("Attention: is_causal=True in place of a mask, and no padding to the longest sequence");
  }
  if (share_of_busy(input, own_copies_ns) >= kWorthAdvice) {
    advice.emplace_back("Copies within the device: write in place (out=...), fewer clone() and contiguous()");
  }
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
  const DurationNs own_copies_ns = own_copies_alone_ns(input);
  const double copies = share_of_window(input, busy->exposed_copy_ns - own_copies_ns);
  if (communication >= kCommunicationAlone || copies >= kCopiesAlone) return std::nullopt;
  const double bound = floor_ratio(input) - communication;
  if (bound < kBound || best_busy_ratio(input) < kBound) return std::nullopt;

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
  add_advice(input, own_copies_ns, finding.advice);
  return finding;
}

}  // namespace stepscope

// no-tensor-cores: matmuls run on the ordinary cores, at a tenth of the speed.
//
// Symptom: GPU busy, MFU of a few percent. Evidence: matmul kernels whose names say that they use no tensor cores
// (sgemm, simt). Threshold: 10 % of the GPU time (0.8 % at most on healthy recordings, where small gemv kernels are
// such; 81 and 92 % on planted ones). A fault when it costs 5 % of the step, else a note: in a loop bound by the host
// faster kernels bring nothing.
// False alarms: fp64 or fp32 that is wanted for its precision; matrices too small for tensor cores.
#include "analyze/kernel_totals.h"
#include "rules/costs.h"
#include "rules/matmul_advice.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kShare = 0.10;
constexpr double kFault = 0.05;

void add_kernels(const RuleInput& input, DeviceId device, Finding& finding) {
  std::size_t shown = 0;
  for (const KernelTotal& total :
       compute_kernel_totals(input.trace, input.facts.timeline, input.facts.classes, input.facts.steps, device)) {
    if (total.kernel_class != KernelClass::kMatmul) continue;
    if (input.facts.classes.tensor_cores[total.name.value] != TensorCores::kNotUsed) continue;
    finding.evidence.push_back(
        {short_kernel_name(input.trace.text(total.name)) + ": " + describe_per_step(input, total.gpu_sum_ns) + ".",
         std::nullopt});
    if (++shown == 2) return;
  }
}

}  // namespace

std::optional<Finding> find_no_tensor_cores(const RuleInput& input) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (busy == nullptr || busy->gpu_sum_ns <= 0) return std::nullopt;
  const double share = static_cast<double>(busy->simt_matmul_ns) / static_cast<double>(busy->gpu_sum_ns);
  if (share < kShare) return std::nullopt;

  const Cost cost = cost_of(input, Transform::kTensorCores);
  Finding finding;
  finding.id = "no-tensor-cores";
  finding.severity = cost.ratio.value_or(1) >= kFault ? Severity::kFault : Severity::kNote;
  const std::string& dtype = input.facts.flops.dominant_dtype;
  finding.title = "Matmuls that do not use tensor cores take " + format_percent(share) + " of the GPU time" +
                  (dtype.empty() ? "" : " (" + dtype + ")");
  add_kernels(input, busy->device, finding);
  add_efficiency(input, finding);
  finding.advice = {"with torch.autocast('cuda', torch.bfloat16): around the forward pass",
                    "To stay in fp32: torch.set_float32_matmul_precision('high')  (TF32)"};
  add_matmul_sizes(input, finding);
  set_cost(finding, input, cost, "On tensor cores");
  return finding;
}

}  // namespace stepscope

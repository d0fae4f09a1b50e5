// launch-blocking: CUDA_LAUNCH_BLOCKING=1 was set, so the host waited for every kernel.
//
// Symptom: the GPU idles after each kernel. Evidence: of the kernels over 20 us, at least 95 % ended before their
// launch call returned; an ordinary call returns in about 5 us. Recorded with the variable set: 100 %; on every other
// recording at most 0.3 %. The share is 95 % and not 100 % because the clocks of host and GPU are aligned to some
// microseconds only. At least 10 such kernels are asked for, so that three odd ones decide nothing.
// False alarm: a debugger, or compute-sanitizer, serializes launches too; the advice is the same.
// Nothing else is found then: every other cost is changed by it. Nor is anything predicted (facts.cpp): the step
// "without the profiler" would be that of a run which blocks all the same.
#include "analyze/launch_returns.h"
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {

std::optional<Finding> find_launch_blocking(const RuleInput& input) {
  const LaunchReturns returns = compute_launch_returns(input.trace, input.facts.timeline, input.facts.steps.window);
  if (!returns.launches_block()) return std::nullopt;
  Finding finding;
  finding.id = "launch-blocking";
  finding.severity = Severity::kFault;
  finding.title =
      "Every launch waited for its kernel: CUDA_LAUNCH_BLOCKING=1 was set, and no time here is the program's own";
  finding.evidence.push_back({format_count(static_cast<double>(returns.ended_first_count)) + " of " +
                                  count_of(returns.kernel_count, "kernel", "kernels") +
                                  " over 20 us had ended when the launch call returned.",
                              std::nullopt});
  finding.advice = {
      "unset CUDA_LAUNCH_BLOCKING (on AMD: HIP_LAUNCH_BLOCKING, AMD_SERIALIZE_KERNEL), then record again"};
  return finding;
}

}  // namespace stepscope

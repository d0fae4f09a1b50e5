// allocator-thrash: device memory is allocated and freed in every step instead of being reused.
//
// Symptom: cudaMalloc and cudaFree in the steady state; cudaFree waits for the whole GPU. Evidence: calls counted by
// step. Threshold: at least 2 calls a step in over half of the steps (a single growth is no thrash), and 1 % of the
// step: memory that still grows in the first steps allocates too, but costs nothing that recurs. 0 calls on healthy
// recordings, 42 a step on the planted one. Without a re-simulation the time inside the calls decides.
// False alarm: a recording that begins with the first steps; warm-up-in-window names that.
#include "analyze/allocation_calls.h"
#include "rules/costs.h"
#include "rules/host_sites.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr std::int64_t kCallsAStep = 2;
constexpr double kFault = 0.01;

}  // namespace

std::optional<Finding> find_allocator_thrash(const RuleInput& input) {
  const AllocationCalls calls = compute_allocation_calls(input.trace, input.facts.steps);
  const std::size_t step_total = input.facts.steps.steps.size();
  std::size_t steps_with = 0;
  for (std::size_t step = 0; step < step_total; ++step) steps_with += calls.in_step(step) >= kCallsAStep ? 1 : 0;
  if (steps_with * 2 <= step_total || !calls.longest) return std::nullopt;

  const Cost cost = cost_of(input, Transform::kAllocatorFree);
  if (cost.ratio.value_or(share_of_window(input, calls.call_sum_ns)) < kFault) return std::nullopt;
  const double n = step_count(input);
  Finding finding;
  finding.id = "allocator-thrash";
  finding.severity = Severity::kFault;
  finding.title = "Device memory is allocated " + format_count(static_cast<double>(calls.allocation_count) / n) +
                  " and freed " + format_count(static_cast<double>(calls.free_count) / n) +
                  " times a step instead of being kept";
  std::string text = "The calls take " + format_duration(per_step(input, calls.call_sum_ns)) +
                     " a step; the longest is " + std::string(input.trace.text(input.trace.calls.name[*calls.longest]));
  if (const std::string where = describe_call_place(input.trace, *calls.longest); !where.empty()) text += ", " + where;
  finding.evidence.push_back(
      {text + ".", Interval{input.trace.calls.start_ns[*calls.longest], input.trace.calls.end_ns[*calls.longest]}});
  if (calls.free_count > 0) {
    finding.advice.emplace_back("Remove torch.cuda.empty_cache() from the training loop: grep -rn empty_cache .");
    finding.advice.emplace_back(
        "If nothing calls it, memory is full: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or a "
        "smaller batch");
  } else {
    finding.advice.emplace_back(
        "Memory grows in every step: look for tensors that are kept (a list of losses with their "
        "graphs: append loss.detach())");
  }
  set_cost(finding, input, cost, "With memory kept");
  return finding;
}

}  // namespace stepscope

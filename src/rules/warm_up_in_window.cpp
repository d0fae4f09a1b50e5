// warm-up-in-window: the recorded steps were still warming up.
//
// Symptom: the first recorded steps are slower than those that follow. Evidence: code loaded, compiled or tuned,
// contexts created inside recorded steps; or the allocator still growing: cudaMalloc in the first half of the steps
// and fewer frees than allocations. One such event is enough, since a steady step has none; it is a note, never a
// fault, because the training itself is not at fault. Where allocator-thrash was found, growth is not told again.
// A compilation after three steps without a sign is none: new shapes; outlier-step tells its price. False alarm: a
// program that loads its kernels late on purpose.
#include <algorithm>

#include "analyze/allocation_calls.h"
#include "analyze/warm_up_events.h"
#include "rules/costs.h"
#include "rules/recompile_advice.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

void add_sign(const RuleInput& input, const WarmUpSign& sign, std::string_view what, Finding& finding) {
  if (sign.count == 0) return;
  finding.evidence.push_back({std::string(what) + ", " + format_count(static_cast<double>(sign.count)) +
                                  " times; the longest, " + shortened(input.trace.text(sign.name), 60) + ", took " +
                                  format_duration(sign.longest_ns) + ".",
                              sign.example});
}

// Growth, not churn: more allocations than frees.
void add_growth(const RuleInput& input, Finding& finding) {
  if (find_found(input, "allocator-thrash") != nullptr) return;
  const AllocationCalls calls = compute_allocation_calls(input.trace, input.facts.steps);
  if (calls.allocation_count <= calls.free_count || !calls.longest) return;
  const CallId longest = *calls.longest;
  finding.evidence.push_back(
      {"The allocator still grows: " + count_of(calls.allocation_count, "allocation", "allocations") +
           " of device memory, " + format_duration(calls.call_sum_ns) + " in the calls.",
       Interval{input.trace.calls.start_ns[longest], input.trace.calls.end_ns[longest]}});
}

// How far the slowest step is from the median one: 1.5 times, as for an outlier.
void add_slowest_step(const RuleInput& input, Finding& finding) {
  const auto& steps = input.facts.steps.steps;
  const auto slowest = std::max_element(steps.begin(), steps.end(),
                                        [](const Step& a, const Step& b) { return a.duration_ns() < b.duration_ns(); });
  if (slowest == steps.end() || 2 * slowest->duration_ns() < 3 * recorded_step_ns(input)) return;
  finding.evidence.push_back({"Step " + std::to_string(slowest->number) + " takes " +
                                  format_duration(slowest->duration_ns()) + ", the median step " +
                                  format_duration(recorded_step_ns(input)) + ".",
                              slowest->gpu});
}

// Steps that compile again after steps that did not: no warm-up, which has an end. Where such a step is an outlier,
// that finding tells it.
void add_recompilation(const RuleInput& input, const WarmUpEvents& signs, bool is_alone, Finding& finding) {
  const auto recompiling = signs.step_count(true);
  if (recompiling == 0 || find_found(input, "outlier-step") != nullptr) return;
  add_sign(input, signs.of(WarmUpKind::kCompile, true), "Code is compiled again", finding);
  finding.advice.emplace_back(kRecompileAdvice);
  if (!is_alone) return;
  finding.title = "Code is compiled again in " + format_count(static_cast<double>(recompiling)) + " of " +
                  format_count(step_count(input)) + " steps, after steps without: that is no warm-up";
}

}  // namespace

std::optional<Finding> find_warm_up_in_window(const RuleInput& input) {
  if (!has_steps(input)) return std::nullopt;
  const WarmUpEvents signs = compute_warm_up_events(input.trace, input.facts.steps);
  Finding finding;
  finding.id = "warm-up-in-window";
  finding.severity = Severity::kNote;
  add_sign(input, signs.of(WarmUpKind::kCompile, false), "Code is compiled", finding);
  add_sign(input, signs.of(WarmUpKind::kAutotune, false), "Kernels are tuned", finding);
  add_sign(input, signs.of(WarmUpKind::kModuleLoad, false), "Device code is loaded", finding);
  add_sign(input, signs.of(WarmUpKind::kContext, false), "A device context or handle is created", finding);
  add_growth(input, finding);
  const bool is_warm_up = !finding.evidence.empty();
  if (is_warm_up) {
    const auto with_signs = signs.step_count(false);
    finding.title = "The recorded steps were still warming up";
    if (with_signs > 0) {
      finding.title += " (signs of it in " + format_count(static_cast<double>(with_signs)) + " of " +
                       format_count(step_count(input)) + " steps)";
    }
    finding.advice = {"Skip more steps before recording: schedule(skip_first=10, wait=1, warmup=2, active=3)"};
  }
  add_recompilation(input, signs, !is_warm_up, finding);
  if (finding.evidence.empty()) return std::nullopt;
  add_slowest_step(input, finding);
  return finding;
}

}  // namespace stepscope

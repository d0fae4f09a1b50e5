// profiler-distortion: the step as recorded is longer than the step without the profiler.
//
// Symptom: a loop bound by its host is slowed by recording each operator and call. Evidence: the re-simulated step
// with the profiler's costs taken out. Threshold: the recorded step is 1.10 times even the high end of the estimate
// (1.08 at most on recordings where the GPU is the limit; 1.14 at least where the host is). The middle of the
// estimate would put 1.095 and 1.106 on two sides of the threshold, which its own error of 10 % cannot carry.
// A note: it is about the recording, and says which number to believe.
#include "analyze/this_run.h"
#include "rules/costs.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kDistorted = 1.10;

// Frames of captures are made of stacks when they are read: nobody recorded them.
std::string recorded_events(const Trace& trace, double steps) {
  const bool has_frames = trace.info.producer != "capture";
  const std::size_t count = trace.ops.size() + (has_frames ? trace.frames.size() : 0);
  return format_count(static_cast<double>(count) / steps) +
         (has_frames ? " operators and Python frames" : " operators");
}

}  // namespace

std::optional<Finding> find_profiler_distortion(const RuleInput& input) {
  auto unprofiled = input.facts.what_ifs.unprofiled_step();
  if (!unprofiled || unprofiled->high_ns <= 0 || !has_steps(input)) return std::nullopt;
  const DurationNs recorded = recorded_step_ns(input);
  if (static_cast<double>(recorded) < kDistorted * static_cast<double>(unprofiled->mid_ns)) return std::nullopt;
  // How fast another process would be is no matter here, but the report's step line asks just that: two ranges for what
  // reads as one step, so this one says of what it is.
  const auto this_run = estimate_this_run(input.trace, input.facts);
  unprofiled = this_run.value_or(*unprofiled);
  if (static_cast<double>(recorded) < kDistorted * static_cast<double>(unprofiled->high_ns)) return std::nullopt;
  Finding finding;
  finding.id = "profiler-distortion";
  finding.severity = Severity::kNote;
  finding.title = "The profiler made the step longer: recorded " + format_duration(recorded) + ", without it about " +
                  format_duration(unprofiled->mid_ns) + " (" + format_duration(unprofiled->low_ns) + " to " +
                  format_duration(unprofiled->high_ns) +
                  (this_run ? " in this run; the step line's is of any run)" : ")");
  const Trace& trace = input.trace;
  finding.evidence.push_back({"The host records " + recorded_events(trace, step_count(input)) + " and " +
                                  format_count(static_cast<double>(trace.calls.size()) / step_count(input)) +
                                  " runtime calls a step, and each costs it time.",
                              std::nullopt});
  finding.advice = {"Time the step without the profiler before and after a change: torch.cuda.Event around 20 steps",
                    "Record less: with_stack=False, record_shapes=False, profile_memory=False"};
  return finding;
}

}  // namespace stepscope

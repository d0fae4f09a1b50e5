// The answer in a sentence or two: what is wrong in plain words, and what mending it brings.
//
// A finding's title names the user's lines; the verdict says what that means for somebody who has never seen a trace.
// A rule without a row here gets its own title, so that a new rule need not touch this file.
#include <algorithm>

#include "analyze/recording_words.h"
#include "analyze/step_marks.h"
#include "rules/costs.h"
#include "rules/rules.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

// "half", "a third", else "52 %": of every step.
std::string describe_share(double ratio) {
  if (ratio >= 0.47 && ratio <= 0.53) return "half";
  if (ratio >= 0.31 && ratio <= 0.36) return "a third";
  if (ratio >= 0.23 && ratio <= 0.27) return "a quarter";
  return format_percent(ratio);
}

// Where no GPU was recorded, none waits.
std::string plain_cause_on_host(const Finding& finding) {
  const std::string share = finding.saving_ratio ? describe_share(*finding.saving_ratio) : "part";
  const std::string only = " No GPU was recorded.";
  if (finding.id == "data-loader-stall")
    return "The training thread spends " + share + " of every step on making data." + only;
  if (finding.id == "host-pause")
    return "For " + share + " of every step the training thread works on something that runs no operator." + only;
  if (finding.id == "garbage-collection") return "Python's garbage collector takes " + share + " of every step." + only;
  return finding.title + "." + only;
}

std::string plain_cause(const Finding& finding, bool is_graph) {
  const std::string share = finding.saving_ratio ? describe_share(*finding.saving_ratio) : "part";
  const std::string_view id = finding.id;
  if (id == "data-loader-stall") return "The GPU waits for data during " + share + " of every step.";
  if (id == "host-overhead" && is_graph)
    return "The GPU waits for the host during " + share + " of every step, between one graph and the next.";
  if (id == "host-overhead") {
    return "The GPU waits for the host during " + share +
           " of every step: the host cannot launch work as fast as the GPU finishes it.";
  }
  if (id == "hidden-sync")
    return "A line in mid-step makes the host wait for the GPU, and the GPU then waits for the host.";
  if (id == "blocking-copy")
    return "Every step copies its data from pageable memory: slowly, and with the GPU waiting.";
  if (id == "allocator-thrash")
    return "Every step gives device memory back and asks for it again, and the GPU waits for that.";
  if (id == "unfused-optimizer") return "The optimizer launches hundreds of tiny kernels where a few would do.";
  if (id == "odd-matmul-sizes") {
    const auto example = finding.title.find(", such as");
    return "Sizes that are no multiples of 8 slow the matmuls down" +
           (example == std::string::npos ? std::string() : finding.title.substr(example)) + ".";
  }
  if (id == "no-tensor-cores") return "The matrix products do not use the tensor cores.";
  if (id == "host-pause") {
    return "In every step the host launches nothing" +
           (finding.saving ? " for about " + format_duration(finding.saving->mid_ns) : std::string()) +
           ", and the GPU waits.";
  }
  if (id == "garbage-collection") return "Python's garbage collector stops the training in every step.";
  if (id == "straggler") return "This rank spends " + share + " of every step waiting for a rank that comes late.";
  if (id == "exposed-communication") return "Communication runs alone for " + share + " of every step.";
  if (id == "exposed-copy")
    return "The GPU spends " + share + " of every step copying and does nothing else meanwhile.";
  return finding.title + ".";
}

std::string join(const std::string& sentence, const std::string& gain) {
  return gain.empty() ? sentence : sentence + " " + gain;
}

const Finding* first_of(const std::vector<Finding>& findings, Severity severity) {
  for (const Finding& finding : findings) {
    if (finding.severity == severity && finding.id != "incomplete-data") return &finding;
  }
  return nullptr;
}

const Finding* with_id(const std::vector<Finding>& findings, std::string_view id) {
  for (const Finding& finding : findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

// What a reader would miss who stopped at the first finding: a general cause stands behind specific ones even where it
// costs far more. Twice as much is far more than the estimates' errors.
std::string mention_costlier(const std::vector<Finding>& findings, const Finding& first) {
  if (!first.saving || first.saving_as_recorded) return {};
  for (std::size_t at = 0; at < findings.size(); ++at) {
    const Finding& other = findings[at];
    if (other.severity != Severity::kFault || !other.saving || !other.saving_ratio || other.saving_as_recorded)
      continue;
    if (other.saving->mid_ns < 2 * first.saving->mid_ns) continue;
    return " Costlier still: " + std::string(other.id) + ", " + format_duration(other.saving->mid_ns) + " a step (" +
           format_percent(*other.saving_ratio) + "), finding " + std::to_string(at + 1) + ".";
  }
  return {};
}

// Most of the recorded time is no ordinary step, and the signs of a warm-up say why.
std::string describe_warm_up(const RuleInput& input, const DeviceBusy& busy) {
  const auto& steps = input.facts.steps.steps;
  const auto slowest = std::max_element(steps.begin(), steps.end(),
                                        [](const Step& a, const Step& b) { return a.duration_ns() < b.duration_ns(); });
  return "The recording holds the warm-up: step " + std::to_string(slowest->number) + " takes " +
         format_duration(slowest->duration_ns()) + ", the median step " + format_duration(recorded_step_ns(input)) +
         ", and the GPU is busy " + format_percent(share_of_window(input, busy.gpu_busy_ns)) +
         " of the time. Record later steps to judge the training itself.";
}

// Besides faster kernels, the costliest note that would bring 5 % of the step: what data-loader-stall calls a note.
std::string describe_worthy_note(const std::vector<Finding>& findings) {
  for (std::size_t at = 0; at < findings.size(); ++at) {
    const Finding& note = findings[at];
    if (note.severity != Severity::kNote || note.saving_ratio.value_or(0) < 0.05) continue;
    return " Besides faster kernels, finding " + std::to_string(at + 1) + " (" + note.id + ") would save " +
           format_percent(*note.saving_ratio) + ".";
  }
  return {};
}

std::string describe_compute_bound(const RuleInput& input, const std::vector<Finding>& findings, const Finding& bound) {
  std::string out = "Compute-bound: the GPU is busy " + describe_busy(input);
  const std::string note = describe_worthy_note(findings);
  std::string recomputed;
  for (const Evidence& evidence : bound.evidence) {
    const auto at = evidence.text.find(" of the FLOPs are recomputed");
    if (at != std::string::npos) recomputed = evidence.text.substr(0, at) + " of the FLOPs recompute activations.";
  }
  if (!note.empty()) return out + "." + note;
  if (recomputed.empty()) return out + ". Only faster kernels help now.";
  return out + ". Faster kernels help, and checkpointing less: " + recomputed;
}

std::string without_fault(const RuleInput& input, const std::vector<Finding>& findings) {
  const DeviceBusy* busy = input.facts.main_busy();
  if (input.facts.ledger.is_host_only) {
    return "Only the CPU is in this file, so the step time is the host's own. If the program uses a GPU, record that "
           "too.";
  }
  if (busy == nullptr) return "The file holds no GPU work, so there is nothing to say about a GPU.";
  const std::string share = format_percent(typical_busy_ratio(input));
  if (!has_steps(input)) {
    const bool has_one_end = input.facts.steps.source_detail == kOneStepsEnd;
    return (has_one_end ? "Only one step's end was recorded" : "No steps are marked") +
           std::string(", so there is no step time; over the whole file the GPU is busy ") +
           format_percent(share_of_window(input, busy->gpu_busy_ns)) + " of the time. " +
           (has_one_end
                ? std::string(kRecordTwoSteps)
                : fit_recording_words(input.trace, "Call prof.step() after each step, or name a span: --steps NAME."));
  }
  if (!durations_are_sound(input)) {
    return "Some recorded durations cannot be true, so no cause is judged; with them corrected the GPU is busy " +
           share + " of the median step.";
  }
  if (with_id(findings, "warm-up-in-window") != nullptr && median_hides_window(input)) {
    return describe_warm_up(input, *busy);
  }
  if (const Finding* bound = with_id(findings, "compute-bound"); bound != nullptr) {
    return describe_compute_bound(input, findings, *bound);
  }
  if (const Finding* note = first_of(findings, Severity::kNote); note != nullptr && note->saving) {
    return "No fault found; the GPU is busy " + share + " of the median step. " + note->title + ".";
  }
  return "No fault found; the GPU is busy " + share + " of the median step, and no single cause explains the rest.";
}

}  // namespace

std::string write_verdict(const RuleInput& input, const std::vector<Finding>& findings) {
  if (input.facts.ledger.headline_withheld) {
    return "This recording cannot carry a verdict: " + *input.facts.ledger.headline_withheld +
           (input.facts.ledger.headline_withheld->ends_with('.') ? "" : ".");
  }
  const Finding* fault = first_of(findings, Severity::kFault);
  if (fault == nullptr) return without_fault(input, findings);
  const std::string cause = input.facts.ledger.is_host_only
                                ? plain_cause_on_host(*fault)
                                : plain_cause(*fault, with_id(findings, "graph-step") != nullptr);
  return join(cause, fault->gain) + mention_costlier(findings, *fault);
}

}  // namespace stepscope

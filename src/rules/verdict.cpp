// The answer in a sentence or two: what is wrong in plain words, and what mending it brings.
//
// A finding's title names the user's lines; the verdict says what that means for somebody who has never seen a trace.
// A rule without a row here gets its own title, so that a new rule need not touch this file.
#include <algorithm>

#include "analyze/recording_words.h"
#include "analyze/step_marks.h"
#include "rules/costs.h"
#include "rules/host_sites.h"
#include "rules/rules.h"
#include "rules/wording.h"
#include "stats/quantiles.h"

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
  if (recomputed.empty()) {
    const bool copies = std::any_of(bound.advice.begin(), bound.advice.end(),
                                    [](const std::string& line) { return line.starts_with("Copies within"); });
    return out + (copies ? ". Only faster kernels and fewer copies within the device help now."
                         : ". Only faster kernels help now.");
  }
  return out + ". Faster kernels help, and checkpointing less: " + recomputed;
}

// The clocks of host and GPU disagree for sure where nearly every synchronization returns before the thread's latest
// launch has ended: of the whole device, or of the only stream there is. 20 us: what sound clocks may differ by.
std::string describe_late_gpu_clock(const RuleInput& input) {
  constexpr DurationNs kSoundClocks = 20'000;
  const Trace& trace = input.trace;
  if (input.facts.busy.size() != 1) return {};
  std::vector<DurationNs> early;
  std::int64_t asked = 0;
  for (const IdRange<CallId>& of_thread : trace.calls_of_thread.raw()) {
    CallId latest_launch;
    for (const CallId call : of_thread.ids()) {
      if (trace.calls.gpu_count[call] > 0) latest_launch = call;
      const ApiKind kind = trace.calls.kind[call];
      const bool waits = kind == ApiKind::kDeviceSync || (kind == ApiKind::kStreamSync && trace.streams.size() == 1);
      if (!waits || !latest_launch.has_value()) continue;
      ++asked;
      const GpuEventId last = trace.gpu_events_of(latest_launch)[0];
      const DurationNs by_ns = input.facts.timeline.end_ns[last] - trace.calls.end_ns[call];
      if (by_ns > kSoundClocks) early.push_back(by_ns);
    }
  }
  const auto count = static_cast<std::int64_t>(early.size());
  if (count < 3 || count * 10 < asked * 9) return {};
  return " The GPU's clock is ahead of the host's: " + std::to_string(count) + " of " +
         count_of(asked, "synchronization returns", "synchronizations return") + " before the awaited work ends, by " +
         format_duration(median_ns(early).value_or(0)) + ", so where the GPU waits cannot be told.";
}

// What other GPUs of the process do while this one is idle, when that is most of its idle time.
std::string describe_other_devices(const RuleInput& input) {
  constexpr double kMost = 0.5;
  constexpr double kWorthNaming = 0.1;
  constexpr double kInTurn = 1.2;  // busy times that add up to little more than their union
  const DeviceBusy& own = *input.facts.main_busy();
  const IntervalSet idle = subtract(complement(own.busy, input.facts.steps.window), input.facts.steps.unrecorded);
  const auto idle_ns = static_cast<double>(length_ns(idle));
  std::vector<Interval> meanwhile, all(own.busy);
  double sum_ns = static_cast<double>(own.gpu_busy_ns);
  std::vector<const DeviceBusy*> named;
  for (const DeviceBusy& other : input.facts.busy) {
    if (other.device == own.device) continue;
    const IntervalSet shared = intersect(idle, other.busy);
    meanwhile.insert(meanwhile.end(), shared.begin(), shared.end());
    all.insert(all.end(), other.busy.begin(), other.busy.end());
    sum_ns += static_cast<double>(other.gpu_busy_ns);
    if (static_cast<double>(length_ns(shared)) >= kWorthNaming * idle_ns) named.push_back(&other);
  }
  const double share = static_cast<double>(length_ns(union_of(std::move(meanwhile)))) / std::max(1.0, idle_ns);
  if (named.empty() || share < kMost) return {};
  std::string names = named.size() == 1 ? "device" : "devices";
  for (std::size_t at = 0; at < named.size() && at < 8; ++at) {
    names += (at == 0 ? " " : ", ") + std::to_string(input.trace.devices.number[named[at]->device]);
  }
  const std::string opening = " For " + format_percent(share) + " of its idle time " + names +
                              (named.size() == 1 ? " works" : " work") + " meanwhile";
  if (sum_ns <= kInTurn * static_cast<double>(length_ns(union_of(std::move(all))))) {
    return opening +
           ", one GPU after the other: split the batch into micro-batches (torch.distributed.pipelining) so "
           "that all work at once, or use fewer GPUs.";
  }
  return opening + ", which has more to do: give this GPU a larger part of the work.";
}

// No rule names a cause; where most of an idle GPU's time has one all the same, it is said.
std::string describe_rest(const RuleInput& input) {
  constexpr double kIdleEnough = 0.20;
  constexpr double kMost = 0.5;
  const std::string none = ", and no single cause explains the rest.";
  const DeviceIdle* idle = input.facts.main_idle();
  const auto idle_ns = static_cast<double>(input.facts.main_busy()->idle_ns);
  if (idle == nullptr || !idle->attributed || idle_ns <= 0 || 1 - typical_busy_ratio(input) < kIdleEnough) return none;
  if (const std::string skew = describe_late_gpu_clock(input); !skew.empty()) return "." + skew;
  if (const std::string others = describe_other_devices(input); !others.empty()) return "." + others;
  const double gaps = static_cast<double>(idle_blamed_on(input, HostLabel::kKernelGap)) / idle_ns;
  if (gaps >= kMost) {
    return ". " + format_percent(gaps) +
           " of the idle time are gaps before kernels that are launched already: the GPU "
           "itself waits, for an event, another stream, or between many short kernels.";
  }
  const double drained = static_cast<double>(idle->drained_by_wait_ns) / idle_ns;
  if (drained < kMost) return none;
  std::string where;
  for (const Gap& gap : idle->largest) {
    if (where.empty() && gap.blocked_by) where = describe_call_place(input.trace, *gap.blocked_by);
  }
  return ". " + format_percent(drained) + " of the idle time begin where the host waits for the GPU" +
         (where.empty() ? "" : " (" + where + ")") +
         ": until it launches again the GPU has no work. Read results later, or every few steps.";
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
  return "No fault found; the GPU is busy " + share + " of the median step" + describe_rest(input);
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

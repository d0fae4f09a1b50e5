// host-pause: the training thread works for milliseconds on something that launches nothing and that no event names.
//
// Symptom: the GPU idles in one long gap a step. Evidence: stretches of at least 5 ms without an event, or inside one
// Python frame or span. Threshold: 5 % of the step (straggler_rank1 spins 20 of 62 ms; healthy recordings have none).
// Else shorter ones, operators on the CPU among them, in which the host launches nothing for far longer than usual: 15
// % of the step, as for host-overhead, whose advice would not help. The cause is "Python work" unless a frame says
// more: garbage collection without stacks looks the same, so the advice names it. False alarms: evaluation or logging
// inside the recorded steps, which is real but perhaps wanted.
#include <array>
#include <limits>

#include "analyze/framework.h"
#include "analyze/held_host.h"
#include "rules/pauses.h"
#include "rules/rule_list.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kFault = 0.05;
constexpr std::size_t kSitesShown = 3;

// Inside a step's own span and nothing else, a stretch has no name.
bool is_nameless(const PauseSite& site) {
  return site.what.empty() || site.what == "host, no event" || site.what.starts_with("ProfilerStep#");
}

std::string where_of(const RuleInput& input, const PauseSite& site) {
  if (!is_nameless(site)) return shortened(site.what, 100);
  const TimeNs middle = site.example.start_ns + site.example.length_ns() / 2;
  const HostPlace place = find_host_place(input.trace, input.facts.steps.main_thread, middle);
  if (!place.python_line.empty()) return "Python work at " + shortened(place.python_line, 100);
  return find_framework(input.trace) == Framework::kCpp ? "Work of the host that no event names"
                                                        : "Python work that no event names";
}

// ", after span data, before span h2d" when nothing else names a pause: what ran last before it and first after it. An
// operator that comes before the next span is nearer and is named instead.
std::string neighbours(const RuleInput& input, const PauseSite& site) {
  const Trace& trace = input.trace;
  const ThreadId main = input.facts.steps.main_thread;
  if (!main.has_value()) return {};
  std::string before;
  std::string after;
  TimeNs after_ns = std::numeric_limits<TimeNs>::max();
  for (const SpanId id : trace.spans_of_thread[main].ids()) {
    const std::string_view name = trace.text(trace.spans.name[id]);
    if (name.starts_with("ProfilerStep#")) continue;
    if (trace.spans.end_ns[id] <= site.example.start_ns) before = ", after span " + shortened(name, 60);
    if (trace.spans.start_ns[id] < site.example.end_ns) continue;
    after = ", before span " + shortened(name, 60);
    after_ns = trace.spans.start_ns[id];
    break;
  }
  for (const OpId id : trace.ops_of_thread[main].ids()) {
    if (trace.ops.start_ns[id] < site.example.end_ns) continue;
    if (trace.ops.start_ns[id] < after_ns) after = ", before " + shortened(trace.text(trace.ops.name[id]), 60);
    break;
  }
  return before + after;
}

// By appending: of "`" + text GCC 12 warns, wrongly, that the two overlap (-Wrestrict).
std::string quoted(std::string_view name) {
  std::string text("`");
  text += shortened(name, 80);
  text += '`';
  return text;
}

// The span of the program's own around most of the work, else its costliest operator.
std::string name_held(const RuleInput& input, const HeldHost& held) {
  const Trace& trace = input.trace;
  const HeldSite& worst = held.sites.front();
  const std::string_view name = trace.text(worst.name);
  const bool is_named = !name.empty() && !name.starts_with("ProfilerStep#");
  if (is_named && worst.per_step_ns * 2 >= held.per_step_ns) return quoted(name);
  const TimeNs middle = worst.longest.start_ns + worst.longest.length_ns() / 2;
  std::string_view around;
  for (const SpanId span : trace.spans_of_thread[input.facts.steps.main_thread].ids()) {
    if (trace.spans.start_ns[span] > middle) break;
    const std::string_view each = trace.text(trace.spans.name[span]);
    if (trace.spans.end_ns[span] > middle && !each.starts_with("ProfilerStep#")) around = each;
  }
  if (!around.empty()) return quoted(around);
  const HostPlace place = find_host_place(trace, input.facts.steps.main_thread, middle);
  if (!place.python_line.empty()) return "Work at " + shortened(place.python_line, 100);
  return is_named ? "Work of the host such as " + quoted(name) : "Work of the host that no event names";
}

// Of short steps 5 ms is much: there a stretch counts that is far longer than the usual way from launch to launch,
// operators that launch nothing in it or not, and together they must cost what makes host-overhead a fault.
std::optional<Finding> find_held(const RuleInput& input) {
  constexpr double kHeldFault = 0.15;
  constexpr std::array<HostLabel, 4> kQuiet = {HostLabel::kOperator, HostLabel::kOptimizer, HostLabel::kPython,
                                               HostLabel::kNoEvent};
  if (input.facts.main_busy() == nullptr || !has_steps(input) || !input.facts.steps.main_thread.has_value()) return {};
  if (find_found(input, "garbage-collection") != nullptr) return std::nullopt;  // the same stretches, with their name
  DurationNs idle_ns = 0;
  for (const HostLabel label : kQuiet) idle_ns += idle_blamed_on(input, label);
  if (share_of_window(input, idle_ns) < kHeldFault) return std::nullopt;
  const auto held = compute_held_host(input.trace, input.facts);
  if (!held || held->sites.empty()) return std::nullopt;
  const Cost cost = cost_of(input, held->without.saving, held->without);
  if (static_cast<double>(held->without.saving.low_ns) < kHeldFault * static_cast<double>(best_step_ns(input)))
    return std::nullopt;

  Finding finding;
  finding.id = "host-pause";
  finding.severity = Severity::kFault;
  finding.title = name_held(input, *held) + " holds the training thread for " + format_duration(held->per_step_ns) +
                  " a step and launches nothing";
  for (std::size_t at = 0; at < held->sites.size() && at < kSitesShown; ++at) {
    const HeldSite& site = held->sites[at];
    if (site.per_step_ns * 20 < held->per_step_ns) break;
    const std::string_view name = input.trace.text(site.name);
    finding.evidence.push_back({(name.empty() || name.starts_with("ProfilerStep#") ? std::string("What no event names")
                                                                                   : shortened(name, 100)) +
                                    ": " + format_duration(site.per_step_ns) + " a step, in stretches of at least " +
                                    format_duration(held->least_ns) + " without a launch.",
                                site.longest});
  }
  finding.advice = {"Move it into a worker or a thread that works ahead: DataLoader(num_workers=2, prefetch_factor=2)"};
  if (held->ahead.saving.mid_ns * 2 >= held->without.saving.mid_ns) {
    finding.evidence.push_back(
        {"With nothing waited for the host would do it while the "
         "GPU works: about " +
             format_duration(held->ahead.step_unprofiled.mid_ns) + " a step.",
         std::nullopt});
    finding.advice.emplace_back("Let the host run ahead: read the loss every N steps, not with .item() in each");
  }
  set_cost(finding, input, cost, "Without it");
  return finding;
}

}  // namespace

std::optional<Finding> find_host_pause(const RuleInput& input) {
  const LongPauses pauses = gather_pauses(input, false);
  if (pauses.share < kFault) return find_held(input);
  const PauseSite& worst = pauses.sites.front();
  const bool is_host_only = input.facts.ledger.is_host_only;
  Finding finding;
  finding.id = "host-pause";
  finding.severity = Severity::kFault;
  // Each in under half of the steps, and together in most of them.
  const bool is_by_turns = worst.per_step_ns == 0;
  finding.title = (is_by_turns ? "Python work at one line or another" : where_of(input, worst)) +
                  " holds the training thread for " +
                  format_duration(is_by_turns ? pauses.per_step_ns : worst.per_step_ns) + " a step and " +
                  (is_host_only ? "runs no operator" : "launches nothing") +
                  (is_nameless(worst) && !is_by_turns ? neighbours(input, worst) : std::string());
  for (std::size_t at = 0; at < pauses.sites.size() && at < kSitesShown; ++at) {
    const PauseSite& site = pauses.sites[at];
    finding.evidence.push_back({where_of(input, site) + ": " + count_of(site.count, "stretch", "stretches") +
                                    " of at least 5 ms, " +
                                    (site.per_step_ns > 0 ? format_duration(site.per_step_ns) + " a step."
                                                          : "in fewer than half of the steps."),
                                site.example});
  }
  if (is_nameless(worst)) {
    finding.advice = {
        "profile(..., with_stack=True) names the line; so does record_function(\"name\") around parts of the loop",
        "If it is Python's garbage collector: gc.freeze() after set-up, or gc.disable()"};
  } else {
    finding.advice = {"Move this work out of the step, into another thread or process, or do it every N steps"};
  }
  set_cost(finding, input, pauses.cost, "Without the pause");
  finding.saving_as_recorded = is_host_only;
  return finding;
}

}  // namespace stepscope

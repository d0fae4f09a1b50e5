// host-pause: the training thread works for milliseconds on something that launches nothing and that no event names.
//
// Symptom: the GPU idles in one long gap a step. Evidence: stretches of at least 5 ms without an event, or inside one
// Python frame or span. Threshold: 5 % of the step (straggler_rank1 spins 20 of 62 ms; healthy recordings have none).
// The cause is "Python work" unless a frame says more: garbage collection without stacks looks the same, so the
// advice names it. False alarms: evaluation or logging inside the recorded steps, which is real but perhaps wanted.
#include <limits>

#include "analyze/framework.h"
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

}  // namespace

std::optional<Finding> find_host_pause(const RuleInput& input) {
  const LongPauses pauses = gather_pauses(input, false);
  if (pauses.share < kFault) return std::nullopt;
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

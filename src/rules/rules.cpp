// Runs the rules and puts the findings in the order in which they are read.
//
// Order: incomplete-data and launch-blocking first, since they decide what the rest is worth; then faults, the general
// ones (host-overhead, exposed-communication) after the specific ones, because their saving is what those leave; then
// notes; then information. Inside each by predicted saving, never by idle share: of the planted faults, hidden
// synchronizations and blocking copies are not the largest share of idle time. Ties keep the order of the list. One
// exception: a wait that lays a pause of the host bare stands before that pause.
#include "rules/rules.h"

#include <algorithm>

#include "rules/costs.h"
#include "rules/fit_advice.h"
#include "rules/pauses.h"
#include "rules/rule_list.h"

namespace stepscope {
namespace {

int reading_order(const Finding& finding) {
  if (finding.id == "incomplete-data") return 0;
  if (finding.id == "launch-blocking") return 1;
  if (finding.severity == Severity::kNote) return 4;
  if (finding.severity == Severity::kInformation) return 5;
  return finding.id == "host-overhead" || finding.id == "exposed-communication" ? 3 : 2;
}

// A pause of the host costs the GPU nothing while work is queued. Where a wait in mid-step had emptied the queue just
// before, the wait is the root: it stands first, if its removal may bring as much as the pause's.
void put_root_first(const RuleInput& input, std::vector<Finding>& findings) {
  constexpr double kMostOfThem = 0.5;
  const auto find = [&](std::string_view id) {
    return std::find_if(findings.begin(), findings.end(),
                        [&](const Finding& f) { return f.id == id && f.severity == Severity::kFault; });
  };
  const auto wait = find("hidden-sync");
  if (wait == findings.end() || !wait->saving) return;
  for (const std::string_view id : {"host-pause", "garbage-collection"}) {
    const auto pause = find(id);
    if (pause >= wait || !pause->saving || wait->saving->high_ns < pause->saving->mid_ns) continue;
    if (share_opened_by_hidden_waits(input) < kMostOfThem) return;
    pause->evidence.push_back(
        {"A hidden synchronization empties the GPU's queue just before it: mend hidden-sync first, "
         "then the GPU may work through the pause.",
         std::nullopt});
    std::rotate(pause, wait, wait + 1);
    return;
  }
}

DurationNs saving_of(const Finding& finding) { return finding.saving ? finding.saving->mid_ns : 0; }

}  // namespace

std::span<const Rule> rules() { return kRules; }

void sort_for_reading(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (reading_order(a) != reading_order(b)) return reading_order(a) < reading_order(b);
    return saving_of(a) > saving_of(b);
  });
}

std::vector<Finding> find_all(const RuleInput& input) {
  std::vector<Finding> findings;
  const bool sound = durations_are_sound(input);
  for (const Rule& rule : rules()) {
    if (rule.needs_durations && !sound) continue;
    auto finding = rule.find(RuleInput{input.trace, input.facts, findings});
    if (!finding) continue;
    findings.push_back(std::move(*finding));
    // Nothing can be told from a recording that cannot carry a headline, nor from launches that all block.
    if (findings.back().id == "incomplete-data" && findings.back().severity == Severity::kFault) break;
    if (findings.back().id == "launch-blocking") break;
  }
  sort_for_reading(findings);
  put_root_first(input, findings);
  fit_advice(input, findings);
  return findings;
}

}  // namespace stepscope

// The passes in order. Each fills its part of the facts and reads only what stands before it.
//
// A summary whose times cannot be true (they come from files) is shown and judges nobody, so that no pass needs to fear
// overflow of sums.
#include "fleet/fleet_facts.h"

#include <algorithm>
#include <map>

#include "fleet/lateness.h"
#include "fleet/order.h"
#include "fleet/rank_costs.h"
#include "fleet/roster.h"
#include "fleet/stopped_steps.h"
#include "rules/finding.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

double saving_of(const SummaryFinding& finding) { return finding.saving_ratio.value_or(-1); }

int order_of(const std::string& severity) {
  if (severity == severity_name(Severity::kFault)) return 0;
  return severity == severity_name(Severity::kNote) ? 1 : 2;
}

bool is_worse(const SummaryFinding& a, const SummaryFinding& b) {
  if (order_of(a.severity) != order_of(b.severity)) return order_of(a.severity) < order_of(b.severity);
  return saving_of(a) > saving_of(b);
}

// The longest step that a finding of the rank can be a part of: without the profiler, or as recorded, the typical or
// the mean one. Missing: nothing is known of its steps.
std::optional<DurationNs> longest_compared_step(const RankSummary& rank) {
  if (rank.steps.empty()) return std::nullopt;
  std::vector<DurationNs> durations;
  DurationNs sum = 0;
  for (const SummaryStep& step : rank.steps) {
    durations.push_back(step.duration_ns);
    sum = plus_ns(sum, step.duration_ns);
  }
  const DurationNs mean = sum / static_cast<DurationNs>(durations.size());
  const DurationNs longest = *std::max_element(durations.begin(), durations.end());
  const DurationNs unprofiled = rank.unprofiled_step ? std::min(rank.unprofiled_step->high_ns, longest) : 0;
  return std::max({mean, median_ns(durations).value_or(0), unprofiled});
}

// Files hold what they please, and those of versions that knew no cap a saving above the step.
SummaryFinding within_step(SummaryFinding finding, const std::optional<DurationNs>& step) {
  if (!finding.saving || !step) return finding;
  Estimate& saving = *finding.saving;
  for (DurationNs* end : {&saving.low_ns, &saving.mid_ns, &saving.high_ns}) *end = std::min(*end, *step);
  if (finding.saving_ratio) finding.saving_ratio = std::min(*finding.saving_ratio, 1.0);
  return finding;
}

void share_findings(const RunSummary& run, FleetFacts& facts) {
  std::map<std::string, std::size_t> known;
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    const RankSummary& rank = run.ranks[facts.ranks[row].summary];
    const std::optional<DurationNs> step = longest_compared_step(rank);
    for (const SummaryFinding& recorded : rank.findings) {
      const SummaryFinding finding = within_step(recorded, step);
      const auto [at, is_new] = known.try_emplace(finding.id, facts.findings.size());
      if (is_new) facts.findings.push_back({finding.id, row, finding, {}});
      SharedRankFinding& shared = facts.findings[at->second];
      if (shared.ranks.empty() || shared.ranks.back() != row) shared.ranks.push_back(row);
      if (is_new || !is_worse(finding, shared.at_worst)) continue;
      shared.worst = row;
      shared.at_worst = finding;
    }
  }
}

// Groups of which one rank is here have met nobody. Where its others have no file they are kept to be named.
void part_lone_groups(FleetFacts& facts) {
  std::vector<std::uint32_t> moved(facts.groups.size(), 0);
  std::vector<FleetGroup> kept;
  for (std::size_t group = 0; group < facts.groups.size(); ++group) {
    moved[group] = static_cast<std::uint32_t>(kept.size());
    FleetGroup& each = facts.groups[group];
    if (each.present_count > 1) {
      kept.push_back(std::move(each));
    } else if (!each.missing.empty()) {
      facts.lone_groups.push_back(std::move(each));
    }
  }
  facts.groups = std::move(kept);
  for (FleetStep& step : facts.steps) {
    if (step.widest) step.widest->group = moved[step.widest->group];
  }
}

}  // namespace

FleetFacts compute_fleet_facts(const RunSummary& run) {
  FleetFacts facts;
  take_roster(run, facts);
  withhold_damaged(run, facts);
  const std::optional<RunSummary> without_stops = leave_out_stopped_steps(run, facts);
  const RunSummary& counted = without_stops ? *without_stops : run;
  measure_ranks(counted, facts);
  compare_kernels(counted, facts);
  Meetings meetings = match_collectives(counted, facts);
  const RunClock clock = put_on_one_clock(meetings, facts);
  judge_lateness(meetings, clock, facts);
  spread_over_ranks(facts);
  share_findings(counted, facts);
  part_lone_groups(facts);
  return facts;
}

}  // namespace stepscope

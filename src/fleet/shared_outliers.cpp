// A rank alone sees that its step 13 took 98 ms instead of 38, and its all-reduce 60 ms longer: "the GPU itself works
// longer". It waited for another rank, and here that is known (lateness.cpp): what a rank's step exceeds its others by
// is its own as far as the step less its waits exceeds theirs. Half of the excess must be, or the step is another
// rank's; the saving is no more than what is its own.
//
// Of those that are left the costliest speaks, as with every other finding of ranks (fleet_facts.cpp). Rejected: the
// slowest rank of the worst step alone, since ranks have outliers of their own in other steps.
#include "fleet/shared_outliers.h"

#include <algorithm>
#include <map>

#include "rules/finding.h"
#include "stats/outliers.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kOwnShare = 0.5;

// Of all outlying steps of one rank together.
struct Excess {
  DurationNs whole_ns = 0, own_ns = 0;
  bool is_known = false;  // the rank met others in them
  [[nodiscard]] bool is_own() const {
    return !is_known || static_cast<double>(own_ns) >= kOwnShare * static_cast<double>(whole_ns);
  }
};

// Steps in which ranks met others, by row of facts.ranks.
std::vector<std::vector<FleetRankStep>> steps_by_row(const FleetFacts& facts) {
  std::vector<std::vector<FleetRankStep>> by_row(facts.ranks.size());
  for (const FleetRankStep& step : facts.rank_steps) by_row[step.row].push_back(step);
  return by_row;
}

Excess measure(const RankSummary& rank, const std::vector<FleetRankStep>& steps) {
  std::map<std::int64_t, DurationNs> own_of;  // by number of the step
  std::vector<std::int64_t> lengths, own;
  for (const FleetRankStep& step : steps) {
    if (!own_of.emplace(step.number, step.duration_ns - step.wait_ns).second) continue;
    own.push_back(step.duration_ns - step.wait_ns);
  }
  for (const SummaryStep& step : rank.steps) lengths.push_back(step.duration_ns);
  Outliers found = find_outliers(lengths, 1);
  if (found.indices.empty()) found = find_outliers(lengths, 0);
  const DurationNs typical_own = median_ns(own).value_or(0);
  Excess excess;
  for (const std::size_t at : found.indices) {
    const auto known = own_of.find(rank.steps[at].number);
    if (known == own_of.end()) continue;
    excess.is_known = true;
    excess.whole_ns += std::max<DurationNs>(0, lengths[at] - found.typical_ns);
    excess.own_ns += std::max<DurationNs>(0, known->second - typical_own);
  }
  return excess;
}

bool is_worse(const SummaryFinding& a, const SummaryFinding& b) {
  const auto is_fault = [](const SummaryFinding& each) { return each.severity == severity_name(Severity::kFault); };
  if (is_fault(a) != is_fault(b)) return is_fault(a);
  return a.saving_ratio.value_or(-1) > b.saving_ratio.value_or(-1);
}

// The saving is a mean over the rank's steps.
SummaryFinding without_waits(SummaryFinding finding, const Excess& excess, const RankSummary& rank) {
  if (!excess.is_known || !finding.saving || finding.saving->mid_ns <= 0 || rank.steps.empty()) return finding;
  const DurationNs most = excess.own_ns / static_cast<DurationNs>(rank.steps.size());
  if (finding.saving->mid_ns <= most) return finding;
  const double kept = static_cast<double>(most) / static_cast<double>(finding.saving->mid_ns);
  for (DurationNs* end : {&finding.saving->low_ns, &finding.saving->mid_ns, &finding.saving->high_ns})
    *end = std::min(*end, most);
  if (finding.saving_ratio) finding.saving_ratio = *finding.saving_ratio * kept;
  return finding;
}

// What its step was is known, why it was so long is not.
void say_waited(SharedRankFinding& shared) {
  SummaryFinding& at = shared.at_worst;
  const std::size_t cause = at.title.rfind(": ");
  at.title = at.title.substr(0, cause) + ": it waits in collectives for another rank";
  at.severity = severity_name(Severity::kNote);
  at.evidence = {"Without these waits the step is as long as its others."};
  at.advice = {"Look for what the other ranks do in this step; the late one may have no file"};
}

}  // namespace

std::vector<bool> find_waiting_ranks(const RunSummary& run, const FleetFacts& facts) {
  const std::vector<std::vector<FleetRankStep>> steps = steps_by_row(facts);
  std::vector<bool> waits(facts.ranks.size());
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    const RankSummary& rank = run.ranks[facts.ranks[row].summary];
    const bool has_outliers = std::any_of(rank.findings.begin(), rank.findings.end(),
                                          [](const SummaryFinding& each) { return each.id == "outlier-step"; });
    waits[row] = has_outliers && !measure(rank, steps[row]).is_own();
  }
  return waits;
}

SharedRankFinding judge_outliers(const RunSummary& run, const SharedRankFinding& shared, const FleetFacts& facts) {
  const std::vector<std::vector<FleetRankStep>> steps = steps_by_row(facts);
  SharedRankFinding out = shared;
  out.ranks.clear();
  for (const std::size_t row : shared.ranks) {
    const RankSummary& rank = run.ranks[facts.ranks[row].summary];
    const Excess excess = measure(rank, steps[row]);
    if (!excess.is_own()) continue;
    const auto recorded = std::find_if(rank.findings.begin(), rank.findings.end(),
                                       [&](const SummaryFinding& each) { return each.id == shared.id; });
    if (recorded == rank.findings.end()) continue;
    const SummaryFinding finding = without_waits(row == shared.worst ? shared.at_worst : *recorded, excess, rank);
    if (out.ranks.empty() || is_worse(finding, out.at_worst)) {
      out.worst = row;
      out.at_worst = finding;
    }
    out.ranks.push_back(row);
  }
  if (!out.ranks.empty()) return out;
  out = shared;
  say_waited(out);
  return out;
}

}  // namespace stepscope

// One rank alone cannot tell its communication from its waits for other ranks. It guesses, and of forty equal ranks one
// guesses wrong: rank 19 of a recorded run, drawn 40 times, said to lose 10 % where the typical rank exposes 12 % and
// 8.2 % of the step is waiting; the rank that communicates least was the run's headline. Here the waits are known.
//
// So the exposure less the waits is judged, of the typical rank first. The threshold is that of one rank alone
// (rules/exposed_communication.cpp). The saving is never more than that of all ranks replayed together with
// communication free, which is more than any overlap can bring; without a replay, never more than the exposure itself.
// Rejected: the largest finding of all ranks with its numbers as they are, which grows with the number of ranks.
#include "fleet/shared_exposure.h"

#include <algorithm>
#include <utility>

#include "fleet/order.h"
#include "rules/finding.h"
#include "rules/wording.h"

namespace stepscope {
namespace {

constexpr double kFault = 0.05;  // of the step

std::optional<DurationNs> without_waits(const FleetRank& rank) {
  if (!rank.exposed_communication_ns || !rank.wait_ns) return std::nullopt;
  return std::max<DurationNs>(0, *rank.exposed_communication_ns - *rank.wait_ns);
}

double share_of(DurationNs part, DurationNs whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Estimate capped(const Estimate& estimate, const Estimate& most) {
  return {std::min(estimate.low_ns, most.low_ns), std::min(estimate.mid_ns, most.mid_ns),
          std::min(estimate.high_ns, most.high_ns)};
}

void cap_saving(DurationNs exposed, const FleetFacts& facts, const FleetReplay& replay, SharedRankFinding& finding) {
  SummaryFinding& at = finding.at_worst;
  if (!at.saving) return;
  const FleetWhatIf* now = replay.refused ? nullptr : replay.find(FleetTransform::kUnchanged);
  const FleetWhatIf* free = replay.refused ? nullptr : replay.find(FleetTransform::kCommunicationFree);
  const bool is_replayed = now != nullptr && free != nullptr && !now->refused && !free->refused;
  const Estimate before = *at.saving;
  at.saving = capped(before, is_replayed ? free->saving : Estimate{exposed, exposed, exposed});
  if (at.saving->mid_ns == before.mid_ns) return;
  at.saving_ratio = share_of(at.saving->mid_ns, is_replayed ? now->step_unprofiled.mid_ns : facts.step_ns->median);
}

}  // namespace

std::optional<JudgedExposure> judge_exposure(const SharedRankFinding& shared, const FleetFacts& facts,
                                             const FleetReplay& replay) {
  const std::optional<DurationNs> own = without_waits(facts.ranks[shared.worst]);
  std::vector<DurationNs> all;
  for (const FleetRank& rank : facts.ranks) {
    if (const auto exposed = without_waits(rank)) all.push_back(*exposed);
  }
  if (!own || !facts.step_ns || all.size() < 2) return JudgedExposure{shared, false};
  const DurationNs typical = lower_median(all), step = facts.step_ns->median;
  SharedRankFinding out = shared;
  const bool is_typical = share_of(typical, step) >= kFault;
  if (!is_typical && share_of(*own, step) < kFault) return std::nullopt;
  cap_saving(is_typical ? typical : *own, facts, replay, out);
  if (out.at_worst.saving_ratio.value_or(1) < kFault) out.at_worst.severity = severity_name(Severity::kNote);
  if (is_typical) {
    out.at_worst.title = "Communication runs alone for " + format_duration(typical) + " a step (" +
                         format_percent(share_of(typical, step)) +
                         ") on the typical rank, without its waits for other ranks; nothing computes under it";
  }
  return JudgedExposure{std::move(out), is_typical};
}

}  // namespace stepscope

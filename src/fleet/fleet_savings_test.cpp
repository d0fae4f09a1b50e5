// No finding over all ranks promises more than the step that it is compared with: drawn, and over seeds of made ranks
// whose steps differ wildly, whose profiler cost is unsure, and whose files claim what cannot be.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fleet/fleet_findings.h"
#include "fleet/fleet_picture.h"
#include "rules/finding.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = MadeFleet::kMs;

const FleetFinding* find_finding(const FleetAnswer& answer, std::string_view id) {
  const auto at = std::find_if(answer.findings.begin(), answer.findings.end(),
                               [&](const FleetFinding& found) { return found.finding.id == id; });
  return at == answer.findings.end() ? nullptr : &*at;
}

// Rank 1 is 4 ms late in each step of 9 ms, and once 40 ms: the waits of that step are no part of a typical one.
TEST(FleetSavings, the_waits_of_one_long_step_are_not_promised_of_a_typical_one) {
  MadeFleet fleet(R"(
    rank 0  |ccA----cc|ccA----cc|ccA----cc|ccA----------------------------------------cc|
    rank 1  |ccccccAcc|ccccccAcc|ccccccAcc|ccccccccccccccccccccccccccccccccccccccccccAcc|
    rank 2  |ccA----cc|ccA----cc|ccA----cc|ccA----------------------------------------cc|
    A = allreduce of dp on 0 1 2
  )");
  const FleetAnswer answer = judge_fleet(fleet.run);
  EXPECT_EQ(answer.facts.straggler_saving->high_ns, 40 * kMs);
  const FleetFinding* late = find_finding(answer, "straggler");
  ASSERT_NE(late, nullptr);
  ASSERT_TRUE(late->finding.saving_as_recorded);
  EXPECT_EQ(late->finding.saving->mid_ns, 4 * kMs);
  EXPECT_EQ(late->finding.saving->high_ns, answer.facts.step_ns->max);
}

TEST(FleetSavings, a_file_that_claims_more_than_its_step_is_not_believed) {
  MadeFleet fleet(R"(
    rank 0  |ccA-cccc|ccA-cccc|ccA-cccc|
    rank 1  |ccA-cccc|ccA-cccc|ccA-cccc|
    A = allreduce of dp on 0 1
  )");
  fleet.rank(1).findings.push_back({"hidden-sync", "fault", Estimate{kMs, 12 * kMs, 90 * kMs}, 1.5, "a line waits"});
  const FleetAnswer answer = judge_fleet(fleet.run);
  const FleetFinding* found = find_finding(answer, "hidden-sync");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->finding.saving->low_ns, kMs);
  EXPECT_EQ(found->finding.saving->mid_ns, 8 * kMs);
  EXPECT_EQ(found->finding.saving->high_ns, 8 * kMs);
  EXPECT_EQ(found->finding.saving_ratio, 1.0);
}

// Ranks of steps from some 30 us to 200 ms, where the profiler's part of each edge may be anything; one or two are
// late, in some steps by many times the step.
RunSummary make_wild(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::int64_t from, std::int64_t to) { return std::uniform_int_distribution(from, to)(random); };
  const auto share = [&] { return std::uniform_real_distribution(0.0, 1.0)(random); };
  MadeDdp made;
  made.seed = seed;
  made.rank_count = static_cast<std::uint32_t>(pick(2, 9));
  made.step_count = static_cast<std::uint32_t>(pick(3, 9));
  made.bucket_count = static_cast<std::uint32_t>(pick(1, 4));
  made.forward_ns = pick(20'000, 40'000) << pick(0, 9);
  made.bucket_ns = made.forward_ns / 10;
  made.optimizer_ns = made.forward_ns / pick(2, 20);
  made.transfer_ns = made.forward_ns / pick(2, 50);
  RunSummary run = make_ddp(made);
  const double profiled = share(), more = 9 * share();
  for (std::int64_t late = pick(0, 2); late > 0; --late) {
    const auto rank = static_cast<std::size_t>(pick(0, made.rank_count - 1));
    std::int64_t step = -1;
    for (SummaryReplayEdge& edge : run.ranks[rank].replay.edges) {
      const SummaryReplayPoint& to = run.ranks[rank].replay.points[edge.to];
      if (to.kind != SummaryReplayPoint::Kind::kReady) continue;
      if (to.of % made.bucket_count == 0) ++step;
      const double factor = step == 1 ? 30 : more;
      edge.recorded_ns += static_cast<DurationNs>(factor * static_cast<double>(edge.recorded_ns));
    }
  }
  for (RankSummary& rank : run.ranks) {
    for (SummaryReplayEdge& edge : rank.replay.edges) {
      edge.unprofiled_ns = static_cast<DurationNs>((1 - profiled * share()) * static_cast<double>(edge.recorded_ns));
      edge.uncontended_ns = static_cast<DurationNs>((1 - share() / 2) * static_cast<double>(edge.unprofiled_ns));
    }
    rank.replay.cost_uncertainty_ratio = share();
    rank.world_size = made.rank_count;
    rank.gpu_event_count = 100;
  }
  settle(run, match_by_name(run), made.transfer_ns);
  for (RankSummary& rank : run.ranks) {
    for (SummaryCollective& collective : rank.collectives) {
      if (collective.sequence + 1 < made.bucket_count) continue;  // the others run beside compute
      collective.exposed_ns = collective.end_ns - collective.start_ns;
      rank.steps[collective.step].exposed_communication_ns = collective.exposed_ns;
    }
    for (SummaryStep& step : rank.steps) step.host_span_ns = step.gpu_busy_ns = step.duration_ns;
    const DurationNs step = rank.steps.front().duration_ns;
    if (pick(0, 1) == 1) rank.unprofiled_step = Estimate{step / 3, step / 2, step};
    rank.findings.push_back({"exposed-communication", "fault", Estimate{0, pick(0, 2 * step), 3 * step}, share(), "?"});
    rank.findings.push_back({"host-overhead", "fault", Estimate{0, pick(0, 2 * step), 3 * step}, share(), "?"});
  }
  return run;
}

void expect_within(const Estimate& saving, DurationNs step, const std::string& what) {
  EXPECT_LE(0, saving.low_ns) << what;
  EXPECT_LE(saving.low_ns, saving.mid_ns) << what;
  EXPECT_LE(saving.mid_ns, saving.high_ns) << what;
  EXPECT_LE(saving.high_ns, step) << what;
}

// What a finding's saving is a part of: the run's slowest rank, the replayed run, or the rank that it is told of.
DurationNs compared_step(const FleetAnswer& answer, const RunSummary& run, const FleetFinding& found) {
  if (!found.worst) {
    if (found.finding.saving_as_recorded) return answer.facts.step_ns->max;
    return answer.replay.find(FleetTransform::kUnchanged)->step_unprofiled.high_ns;
  }
  DurationNs longest = 0;
  for (const SummaryStep& step : run.ranks[answer.facts.ranks[*found.worst].summary].steps)
    longest = std::max(longest, step.duration_ns);
  return longest;
}

TEST(FleetSavings, none_is_more_than_the_step_over_seeds) {
  std::size_t as_recorded = 0, replayed = 0, asked = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const RunSummary run = make_wild(seed);
    const FleetAnswer answer = judge_fleet(run);
    for (const FleetFinding& found : answer.findings) {
      if (!found.finding.saving) continue;
      const std::string what = std::to_string(seed) + " " + found.finding.id;
      expect_within(*found.finding.saving, compared_step(answer, run, found), what);
      EXPECT_LE(found.finding.saving_ratio.value_or(0), 1) << what;
      if (!found.worst) ++(found.finding.saving_as_recorded ? as_recorded : replayed);
    }
    if (answer.replay.refused) continue;
    const FleetWhatIf& now = *answer.replay.find(FleetTransform::kUnchanged);
    EXPECT_LE(now.step_unprofiled.high_ns, std::max(now.step_unprofiled.mid_ns, now.step_recorded_ns));
    for (const FleetWhatIf& what_if : answer.replay.what_ifs) {
      if (what_if.refused) continue;
      ++asked;
      const std::string what = std::to_string(seed) + " " + std::string(fleet_transform_name(what_if.transform));
      expect_within(what_if.saving, now.step_unprofiled.high_ns - what_if.step_unprofiled.low_ns, what);
    }
  }
  EXPECT_GT(as_recorded, 5U);
  EXPECT_GT(replayed, 5U);
  EXPECT_GT(asked, 300U);
}

}  // namespace
}  // namespace stepscope

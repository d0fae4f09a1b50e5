// Steps that stand out, over ranks: of one late step the rank that was slow tells the cause; drawn.
#include "fleet/shared_outliers.h"

#include <gtest/gtest.h>

#include "fleet/fleet_findings.h"
#include "rules/finding.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = MadeFleet::kMs;

// In the third step the loader keeps rank 1 for 12 ms, and rank 0 is in its all-reduce for that long.
constexpr std::string_view kOneLateStep = R"(
  rank 0  |ccccccAcc|ccccccAcc|ccccccA------------cc|ccccccAcc|ccccccAcc|
  rank 1  |ccccccAcc|ccccccAcc|ddddddddddddccccccAcc|ccccccAcc|ccccccAcc|
  A = allreduce of dp on 0 1, 100 MB
)";

SummaryFinding outlier(const char* cause, const char* severity) {
  return {"outlier-step", severity, Estimate{3 * kMs, 3 * kMs, 3 * kMs}, 0.2,
          std::string("Step 6 takes 21.0 ms, the others 9.00 ms: ") + cause};
}

const SharedRankFinding& found(const FleetFacts& facts) { return facts.findings.at(0); }

TEST(SharedOutliers, TheRankThatWasSlowOfItselfTellsTheCause) {
  MadeFleet fleet(kOneLateStep);
  fleet.rank(0).findings.push_back(outlier("the GPU itself works longer, as for a larger batch", "fault"));
  fleet.rank(1).findings.push_back(outlier("the data loader keeps it waiting", "note"));
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  ASSERT_EQ(facts.steps.size(), 5U);
  ASSERT_EQ(found(facts).worst, 0U);
  const SharedRankFinding judged = judge_outliers(fleet.run, found(facts), facts);
  EXPECT_EQ(judged.worst, 1U);
  EXPECT_EQ(judged.ranks, (std::vector<std::size_t>{1}));
  EXPECT_NE(judged.at_worst.title.find("the data loader"), std::string::npos) << judged.at_worst.title;
  EXPECT_LE(judged.at_worst.saving->mid_ns, 12 * kMs / 5);
}

TEST(SharedOutliers, WhoOnlyWaitedIsToldNoCauseOfItsOwn) {
  MadeFleet fleet(kOneLateStep);
  fleet.rank(0).findings.push_back(outlier("the GPU itself works longer, as for a larger batch", "fault"));
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  const SharedRankFinding judged = judge_outliers(fleet.run, found(facts), facts);
  EXPECT_EQ(judged.at_worst.title,
            "Step 6 takes 21.0 ms, the others 9.00 ms: it waits in collectives for another rank");
  EXPECT_EQ(judged.at_worst.severity, severity_name(Severity::kNote));
}

// Each row of the table of ranks, as the findings over all have it.
TEST(SharedOutliers, WhoOnlyWaitedHasItsOwnFindingFirst) {
  MadeFleet fleet(kOneLateStep);
  const SummaryFinding pause{"host-pause", "fault", Estimate{kMs, kMs, kMs}, 0.1, "The host pauses"};
  fleet.rank(0).findings = {outlier("the GPU itself works longer, as for a larger batch", "fault"), pause};
  fleet.rank(1).findings = {outlier("the data loader keeps it waiting", "fault"), pause};
  FleetAnswer answer = judge_fleet(fleet.run);
  EXPECT_EQ(answer.facts.ranks[0].first_finding, "host-pause");
  EXPECT_EQ(answer.facts.ranks[0].first_finding_saving_ns, kMs);
  EXPECT_EQ(answer.facts.ranks[1].first_finding, "outlier-step");
  fleet.rank(0).findings.pop_back();
  answer = judge_fleet(fleet.run);
  EXPECT_EQ(answer.facts.ranks[0].first_finding, "");
  EXPECT_EQ(answer.facts.ranks[0].first_finding_saving_ns, std::nullopt);
}

TEST(SharedOutliers, OfRanksThatMeetNobodyItStays) {
  MadeFleet fleet(kOneLateStep);
  fleet.rank(0).findings.push_back(outlier("a checkpoint is written", "fault"));
  for (std::size_t at : {0U, 1U}) fleet.rank(at).collectives.clear();
  const FleetFacts facts = compute_fleet_facts(fleet.run);
  const SharedRankFinding judged = judge_outliers(fleet.run, found(facts), facts);
  EXPECT_EQ(judged.worst, 0U);
  EXPECT_EQ(judged.at_worst.title, found(facts).at_worst.title);
  EXPECT_EQ(judged.at_worst.saving->mid_ns, 3 * kMs);
}

}  // namespace
}  // namespace stepscope

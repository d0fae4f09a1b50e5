// Exposed communication over ranks: waits are known here, and one rank's guess is no headline; drawn.
#include "fleet/shared_exposure.h"

#include <gtest/gtest.h>

#include "fleet/fleet_findings.h"
#include "rules/finding.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = MadeFleet::kMs;
constexpr const char* kGuess = "Communication runs alone for 4 ms a step (10 %); nothing computes under it";

// `saving_ms` is what rank `at` alone says.
MadeFleet fleet_with_guess(std::string_view picture, std::size_t at, DurationNs saving_ms) {
  MadeFleet fleet(picture);
  const DurationNs ns = saving_ms * kMs;
  fleet.rank(at).findings.push_back({"exposed-communication", "fault", Estimate{ns, ns, ns}, 0.1, kGuess});
  return fleet;
}

// 40 ms a step. Ranks wait 1 ms in turn; the transfer takes 1.
constexpr std::string_view kOneWaitsLess = R"(
  rank 0  |cccccccccccccccccccccccccccccccccccccA-c|ccccccccccccccccccccccccccccccccccccccAc|cccccccccccccccccccccccccccccccccccccA-c|
  rank 1  |ccccccccccccccccccccccccccccccccccccccAc|cccccccccccccccccccccccccccccccccccccA-c|ccccccccccccccccccccccccccccccccccccccAc|
  rank 2  |cccccccccccccccccccccccccccccccccccccA-c|cccccccccccccccccccccccccccccccccccccA-c|cccccccccccccccccccccccccccccccccccccA-c|
  A = allreduce of dp on 0 1 2, 100 MB
)";
// The transfer alone takes 4 ms of 20; nobody waits.
constexpr std::string_view kAllExposed = R"(
  rank 0  |cccccccccccccccA---c|cccccccccccccccA---c|
  rank 1  |cccccccccccccccA---c|cccccccccccccccA---c|
  rank 2  |cccccccccccccccA---c|cccccccccccccccA---c|
  A = allreduce of dp on 0 1 2, 100 MB
)";

SharedRankFinding only_finding(const FleetFacts& facts) { return facts.findings.at(0); }

// Facts as the pictures have them, with the exposure set: the drawn ranks take it from no kernel of their own.
FleetFacts facts_with(const MadeFleet& fleet, const std::vector<DurationNs>& exposed_ms,
                      const std::vector<DurationNs>& wait_ms) {
  FleetFacts facts = compute_fleet_facts(fleet.run);
  for (std::size_t row = 0; row < facts.ranks.size(); ++row) {
    facts.ranks[row].exposed_communication_ns = exposed_ms.at(row) * kMs;
    facts.ranks[row].wait_ns = wait_ms.at(row) * kMs;
  }
  return facts;
}

FleetReplay replay_saving(DurationNs saving_ns) {
  FleetReplay replay;
  FleetWhatIf now, free;
  now.step_unprofiled = {20 * kMs, 20 * kMs, 20 * kMs};
  free.transform = FleetTransform::kCommunicationFree;
  free.saving = {saving_ns, saving_ns, saving_ns};
  replay.what_ifs = {now, free};
  return replay;
}

TEST(SharedExposure, a_rank_that_is_hit_less_than_the_typical_one_is_no_fault) {
  const MadeFleet fleet = fleet_with_guess(kOneWaitsLess, 1, 2);
  const FleetFacts facts = facts_with(fleet, {5, 4, 5}, {4, 3, 4});
  EXPECT_FALSE(judge_exposure(only_finding(facts), facts, replay_saving(kMs)));
}

TEST(SharedExposure, in_the_answer_the_guess_stands_nowhere) {
  MadeFleet fleet = fleet_with_guess(kOneWaitsLess, 1, 2);
  const FleetAnswer answer = judge_fleet(fleet.run);
  for (const FleetFinding& found : answer.findings) EXPECT_NE(found.finding.id, "exposed-communication");
  EXPECT_EQ(answer.verdict.find("Communication runs alone"), std::string::npos) << answer.verdict;
  EXPECT_EQ(answer.facts.ranks[1].first_finding, "");
}

TEST(SharedExposure, what_the_typical_rank_exposes_is_told_of_it) {
  const MadeFleet fleet = fleet_with_guess(kAllExposed, 2, 3);
  const FleetFacts facts = facts_with(fleet, {4, 4, 4}, {0, 0, 0});
  const auto judged = judge_exposure(only_finding(facts), facts, replay_saving(4 * kMs));
  ASSERT_TRUE(judged);
  EXPECT_TRUE(judged->is_of_typical);
  EXPECT_EQ(judged->finding.at_worst.severity, severity_name(Severity::kFault));
  EXPECT_NE(judged->finding.at_worst.title.find("on the typical rank"), std::string::npos);
  EXPECT_EQ(judged->finding.at_worst.saving->mid_ns, 3 * kMs);
}

TEST(SharedExposure, no_more_is_saved_than_with_communication_free) {
  const MadeFleet fleet = fleet_with_guess(kAllExposed, 2, 3);
  const FleetFacts facts = facts_with(fleet, {4, 4, 4}, {0, 0, 0});
  const auto judged = judge_exposure(only_finding(facts), facts, replay_saving(2 * kMs));
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->finding.at_worst.saving->mid_ns, 2 * kMs);
  EXPECT_DOUBLE_EQ(*judged->finding.at_worst.saving_ratio, 0.1);
  // Under the threshold of a fault it is worth a note.
  const auto small = judge_exposure(only_finding(facts), facts, replay_saving(kMs / 2));
  ASSERT_TRUE(small);
  EXPECT_EQ(small->finding.at_worst.severity, severity_name(Severity::kNote));
}

TEST(SharedExposure, one_rank_that_is_hit_more_keeps_its_finding) {
  const MadeFleet fleet = fleet_with_guess(kAllExposed, 2, 3);
  const FleetFacts facts = facts_with(fleet, {0, 0, 4}, {0, 0, 0});
  FleetReplay refused;
  refused.refused = "not asked for";
  const auto judged = judge_exposure(only_finding(facts), facts, refused);
  ASSERT_TRUE(judged);
  EXPECT_FALSE(judged->is_of_typical);
  EXPECT_EQ(judged->finding.at_worst.title, kGuess);
}

TEST(SharedExposure, ranks_that_share_no_collective_keep_what_they_found) {
  const MadeFleet fleet = fleet_with_guess(kAllExposed, 2, 3);
  FleetFacts facts = compute_fleet_facts(fleet.run);
  for (FleetRank& rank : facts.ranks) rank.wait_ns.reset();
  EXPECT_TRUE(judge_exposure(only_finding(facts), facts, {}));
}

}  // namespace
}  // namespace stepscope

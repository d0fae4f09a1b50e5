// A rank that Stepscope stopped is not late, and who waited for it waited for Stepscope; drawn.
#include "fleet/stopped_steps.h"

#include <gtest/gtest.h>

#include "support/made_fleet.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = MadeFleet::kMs;

// In its second step rank 1 writes a snapshot for 6 ms; its own analysis leaves that step out.
constexpr std::string_view kStopped = R"(
  rank 0  |cccA-cc|cccA-------cc|cccA-cc|cccA-cc|
  rank 1  |cccA-cc|ccc......A-cc|cccA-cc|cccA-cc|
  rank 2  |cccA-cc|cccA-------cc|cccA-cc|cccA-cc|
  A = allreduce of dp on 0 1 2, 100 MB
)";

// Step `at` of the rank is gone, as its own analysis does it.
void leave_out(RankSummary& rank, std::size_t at) {
  rank.steps_left_out.push_back(rank.steps[at].number);
  rank.steps.erase(rank.steps.begin() + static_cast<std::ptrdiff_t>(at));
  const auto step = static_cast<std::uint32_t>(at);
  std::erase_if(rank.collectives, [&](const SummaryCollective& each) { return each.step == step; });
  for (SummaryCollective& each : rank.collectives) each.step -= each.step > step ? 1 : 0;
  for (SummaryWork& row : rank.work)
    row.busy_by_step_ns.erase(row.busy_by_step_ns.begin() + static_cast<std::ptrdiff_t>(at));
}

MadeFleet stopped_fleet() {
  MadeFleet made(kStopped);
  const TimeNs start_ns = made.rank(1).steps[1].start_ns + 3 * kMs;
  made.rank(1).own_stops = {{start_ns, 6 * kMs}};
  leave_out(made.rank(1), 1);
  return made;
}

TEST(StoppedSteps, StepsThatWaitedForUsCountOnNoRank) {
  const FleetFacts facts = compute_fleet_facts(stopped_fleet().run);
  EXPECT_EQ(facts.stopped_steps, std::vector<std::int64_t>{5});
  EXPECT_FALSE(facts.stopped_everywhere);
  ASSERT_EQ(facts.stopped_ranks.size(), 1U);
  EXPECT_EQ(facts.stopped_ranks[0].row, 1U);
  EXPECT_EQ(facts.stopped_ranks[0].total_ns, 6 * kMs);
  EXPECT_EQ(facts.steps.size(), 3U);
  EXPECT_TRUE(facts.stragglers.empty());
  for (const FleetRank& rank : facts.ranks) {
    EXPECT_EQ(rank.step_count, 3U) << rank.label;
    EXPECT_EQ(rank.wait_ns, 0) << rank.label;
    EXPECT_EQ(rank.step_ns, 7 * kMs) << rank.label;
  }
  MadeFleet unknown = stopped_fleet();
  unknown.rank(1).own_stops.clear();
  const FleetFacts without = compute_fleet_facts(unknown.run);
  EXPECT_EQ(without.steps.size(), 4U) << "as a file of version 2 has it";
  EXPECT_TRUE(without.stopped_steps.empty());
}

TEST(StoppedSteps, HostClocksAreTakenOffFirst) {
  MadeFleet made = stopped_fleet();
  made.shift(1, 500 * kMs);
  for (SummaryStop& stop : made.rank(1).own_stops) stop.start_ns += 500 * kMs;
  EXPECT_EQ(compute_fleet_facts(made.run).stopped_steps, std::vector<std::int64_t>{5});
}

TEST(StoppedSteps, AStopThatIsHardlyAnyOfTheStepIsNone) {
  MadeFleet made(kStopped);
  made.rank(1).own_stops = {{made.rank(1).steps[2].start_ns, kMs / 10}};
  const FleetFacts facts = compute_fleet_facts(made.run);
  EXPECT_TRUE(facts.stopped_steps.empty());
  EXPECT_EQ(facts.steps.size(), 4U);
}

// Its own analysis leaves out none where it would have to leave out all.
TEST(StoppedSteps, ARankThatIsStoppedInEveryStepIsNoStraggler) {
  constexpr std::string_view kEveryStep = R"(
    rank 0  |cccA-----cc|cccA-----cc|cccA-----cc|
    rank 1  |ccc....A-cc|ccc....A-cc|ccc....A-cc|
    rank 2  |cccA-----cc|cccA-----cc|cccA-----cc|
    A = allreduce of dp on 0 1 2, 100 MB
  )";
  MadeFleet made(kEveryStep);
  EXPECT_EQ(compute_fleet_facts(made.run).stragglers, std::vector<std::size_t>{1});
  for (const SummaryStep& step : made.rank(1).steps)
    made.rank(1).own_stops.push_back({step.start_ns + 3 * kMs, 4 * kMs});
  const FleetFacts facts = compute_fleet_facts(made.run);
  EXPECT_TRUE(facts.stopped_everywhere);
  EXPECT_TRUE(facts.stragglers.empty());
  EXPECT_FALSE(facts.is_uneven);
  EXPECT_EQ(facts.ranks[1].own_ns, 7 * kMs);
  EXPECT_EQ(facts.steps.size(), 3U);
}

TEST(StoppedSteps, AnOutlierThatWaitedForUsIsNoFinding) {
  MadeFleet made = stopped_fleet();
  SummaryFinding outlier;
  outlier.id = "outlier-step";
  outlier.severity = "fault";
  made.rank(0).findings = {outlier};
  EXPECT_TRUE(compute_fleet_facts(made.run).findings.empty());
  made.rank(1).own_stops.clear();
  EXPECT_EQ(compute_fleet_facts(made.run).findings.size(), 1U);
}

// Their clocks may agree, or both begin at 0: nobody waited.
TEST(StoppedSteps, ARankThatMeetsNobodyWaitedForNobody) {
  constexpr std::string_view kAlone = R"(
    rank 0  |cccccc|ccc......ccc|cccccc|cccccc|
    rank 1  |cccccc|cccccc|cccccc|cccccc|cccccc|
  )";
  for (const char* second_host : {"host0", "host1"}) {
    MadeFleet made(kAlone);
    made.host(1, second_host);
    made.rank(0).own_stops = {{made.rank(0).steps[1].start_ns + 3 * kMs, 6 * kMs}};
    leave_out(made.rank(0), 1);
    const FleetFacts facts = compute_fleet_facts(made.run);
    EXPECT_TRUE(facts.stopped_steps.empty()) << second_host;
    EXPECT_TRUE(facts.stopped_ranks.empty()) << second_host;
    EXPECT_EQ(facts.ranks[1].step_count, 5U) << second_host;
  }
}

TEST(StoppedSteps, OfRanksWithoutACommonStepOneIsNotAll) {
  MadeFleet made(kStopped);
  made.run.ranks.resize(1);
  made.rank(0).own_stops = {{made.rank(0).steps[1].start_ns + 3 * kMs, 6 * kMs}};
  const FleetFacts one = compute_fleet_facts(made.run);
  EXPECT_EQ(one.stopped_steps, std::vector<std::int64_t>{5});
  EXPECT_FALSE(one.stopped_everywhere);
  EXPECT_EQ(one.ranks[0].step_count, 3U);
  made.rank(0).own_stops.clear();
  for (const SummaryStep& step : made.rank(0).steps) made.rank(0).own_stops.push_back({step.start_ns, kMs});
  EXPECT_TRUE(compute_fleet_facts(made.run).stopped_everywhere);
}

TEST(StoppedSteps, WhatLiesOutsideTheStepsKeptNobodyWaiting) {
  MadeFleet made = stopped_fleet();
  const SummaryStep& last = made.rank(1).steps.back();
  made.rank(1).own_stops.push_back({last.start_ns + last.duration_ns + kMs, 30'000 * kMs});
  const FleetFacts facts = compute_fleet_facts(made.run);
  ASSERT_EQ(facts.stopped_ranks.size(), 1U);
  EXPECT_EQ(facts.stopped_ranks[0].total_ns, 6 * kMs);
  EXPECT_EQ(facts.stopped_ranks[0].count, 1);
}

TEST(StoppedSteps, InventedTimesOverflowNothing) {
  MadeFleet made(kStopped);
  constexpr TimeNs kFar = TimeNs{1} << 62;
  made.rank(0).own_stops = {{-kFar, DurationNs{1} << 52}, {kFar, DurationNs{1} << 52}, {kFar, -(DurationNs{1} << 52)}};
  EXPECT_EQ(compute_fleet_facts(made.run).steps.size(), 4U);
}

}  // namespace
}  // namespace stepscope

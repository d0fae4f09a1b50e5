// Steps that Stepscope stopped are no slower program, for a gate and for a comparison.
#include "fleet/stopped_runs.h"

#include <gtest/gtest.h>

#include "fleet/difference.h"
#include "fleet/gate.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = MadeFleet::kMs;

constexpr std::string_view kEven = R"(
  rank 0  |cccA-cc|cccA-cc|cccA-cc|cccA-cc|cccA-cc|
  rank 1  |cccA-cc|cccA-cc|cccA-cc|cccA-cc|cccA-cc|
  A = allreduce of dp on 0 1, 100 MB
)";
// Rank 1 is stopped for 6 ms in three of five steps.
constexpr std::string_view kStopped = R"(
  rank 0  |cccA-cc|cccA-------cc|cccA-------cc|cccA-------cc|cccA-cc|
  rank 1  |cccA-cc|ccc......A-cc|ccc......A-cc|ccc......A-cc|cccA-cc|
  A = allreduce of dp on 0 1, 100 MB
)";

RunSummary stopped_run(bool with_stops = true) {
  MadeFleet made(kStopped);
  for (std::size_t step = 1; with_stops && step < 4; ++step)
    made.rank(1).own_stops.push_back({made.rank(1).steps[step].start_ns + 3 * kMs, 6 * kMs});
  return made.run;
}

// The same an hour later.
void add_later(const RunSummary& run, RunSummary& into) {
  constexpr DurationNs kHour = 3'600'000'000'000;
  for (RankSummary rank : run.ranks) {
    for (SummaryStep& step : rank.steps) step.start_ns += kHour;
    for (SummaryStop& stop : rank.own_stops) stop.start_ns += kHour;
    for (SummaryCollective& event : rank.collectives) {
      event.start_ns += kHour;
      event.end_ns += kHour;
    }
    into.ranks.push_back(std::move(rank));
  }
}

TEST(StoppedRuns, AGateCountsStepsAsAReportDoes) {
  const GateSide side = gate_side(stopped_run());
  ASSERT_EQ(side.runs.size(), 1U);
  EXPECT_EQ(side.runs[0].steps_ns, std::vector<double>(2, 7.0 * kMs));
  EXPECT_EQ(side.warnings, std::vector<std::string>{"3 steps in which Stepscope itself stopped a rank count on none"});
  EXPECT_TRUE(side.losses.empty());
  EXPECT_FALSE(side.steps_withheld);
  EXPECT_EQ(gate_side(stopped_run(false)).runs[0].steps_ns.size(), 5U);
}

TEST(StoppedRuns, EachRunOfASideHasItsOwnStops) {
  RunSummary both = stopped_run(false);
  add_later(stopped_run(), both);
  const GateSide side = gate_side(both);
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.runs[0].steps_ns.size(), 5U);
  EXPECT_EQ(side.runs[1].steps_ns.size(), 2U);
}

TEST(StoppedRuns, OfARunThatWasStoppedInEveryStepNoGateCanTell) {
  RunSummary run = stopped_run();
  for (const std::size_t step : {std::size_t{0}, std::size_t{4}})
    run.ranks[1].own_stops.push_back({run.ranks[1].steps[step].start_ns + 3 * kMs, 2 * kMs});
  const GateSide side = gate_side(run);
  EXPECT_EQ(side.runs[0].steps_ns.size(), 5U);
  ASSERT_TRUE(side.steps_withheld);
  EXPECT_NE(side.steps_withheld->find("Stepscope itself stopped a rank in every step"), std::string::npos);
}

TEST(StoppedRuns, ADifferenceHoldsNoStop) {
  SummaryFinding straggler;
  straggler.id = "straggler";
  straggler.severity = "fault";
  RunSummary after = stopped_run();
  for (RankSummary& rank : after.ranks) rank.findings = {straggler};
  const auto difference = compute_difference(MadeFleet(kEven).run, after);
  ASSERT_TRUE(difference);
  for (const RankChange& rank : difference->ranks) {
    EXPECT_EQ(rank.before_step_ns, 7 * kMs);
    EXPECT_EQ(rank.after_step_ns, 7 * kMs);
  }
  EXPECT_TRUE(difference->explaining().findings.empty());
  EXPECT_FALSE(difference->is_partial) << "no step is missing in a summary";
  EXPECT_EQ(difference->doubts,
            std::vector<std::string>{"B: 3 steps in which Stepscope itself stopped a rank count on none"});
  RunSummary unknown = after;
  for (RankSummary& rank : unknown.ranks) rank.own_stops.clear();
  EXPECT_EQ(compute_difference(MadeFleet(kEven).run, unknown)->ranks[0].after_step_ns, 13 * kMs);
  EXPECT_TRUE(compute_difference(after, after)->is_same_recording);
}

TEST(StoppedRuns, TimesThatCannotBeOverflowNothing) {
  RunSummary run = stopped_run();
  for (SummaryStep& step : run.ranks[0].steps) step.start_ns = TimeNs{1} << 62;
  EXPECT_EQ(gate_side(run).runs.size(), 2U);
}

}  // namespace
}  // namespace stepscope

// What is the same on two ranks, and what is not.
#include "fleet/replay_keys.h"

#include <gtest/gtest.h>

#include "fleet/fleet_picture.h"
#include "fleet/replay_soundness.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

RunSummary drawn(std::string_view picture) {
  MadeFleet fleet(picture);
  give_chain_replays(fleet.run);
  return std::move(fleet.run);
}

TEST(ReplayKeys, RanksOfOneProgram) {
  const RunSummary run = drawn(
      "rank 0 |cA-cD-c|\n"
      "rank 1 |cA-cE-c|\n"
      "rank 2 |cccB-D-|\n"
      "rank 3 |cccB--c|\n"
      "A = allreduce of tp0 on 0 1\n"
      "B = allreduce of tp1 on 2 3\n"
      "D = allreduce of dp0 on 0 2\n"
      "E = allreduce of dp1 on 1 3\n");
  std::vector<RankKeys> keys;
  for (const RankSummary& rank : run.ranks) keys.push_back(compute_rank_keys(rank));
  EXPECT_EQ(keys[0].program, keys[1].program);  // other groups of the same kinds
  EXPECT_EQ(keys[0].program, keys[2].program);  // at other times
  EXPECT_NE(keys[0].program, keys[3].program);  // one less
  EXPECT_EQ(keys[0].of_collective, keys[1].of_collective);
  EXPECT_EQ(keys[0].of_point, keys[1].of_point);
}

TEST(ReplayKeys, StagesOfAPipelineAreNot) {
  const RunSummary run = drawn(
      "rank 0 |cS-c|\n"
      "rank 1 |cS-c|\n"
      "S = send of pp on 0 1\n");
  EXPECT_NE(compute_rank_keys(run.ranks[0]).program, compute_rank_keys(run.ranks[1]).program);
}

TEST(ReplayKeys, WordsOfGroups) {
  EXPECT_EQ(group_kind_words({"7", "mesh_tp", {}, {0, 1}}), "mesh_tp");
  EXPECT_EQ(group_kind_words({"7", "", {}, {0, 1}}), "group of 2");
  EXPECT_EQ(group_kind_words({"7", "", {}, {}}), "unnamed group");
}

TEST(ReplaySoundness, FaultsAreSentences) {
  const RunSummary run = drawn("rank 0 |cA-c|cA-c|\nA = allreduce of dp on 0 1\n");
  EXPECT_FALSE(find_replay_fault(run.ranks[0]));
  const auto fault_of = [&](const auto& damage) {
    RankSummary rank = run.ranks[0];
    damage(rank);
    return find_replay_fault(rank).value_or("none");
  };
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.replay.points.clear(); }), "its replay has no beginning");
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.replay.step_count = 3; }), "its replay has other steps");
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.replay.cost_uncertainty_ratio = 2; }), "its replay's range is none");
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.replay.points[2].of = 9; }),
            "its replay's points do not fit its steps");
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.replay.edges.pop_back(); }),
            "its replay's points and edges do not fit together");
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.replay.edges[0].recorded_ns = DurationNs{1} << 60; }),
            "its replay's times are beyond belief");
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.collectives[0].end_ns += DurationNs{1} << 60; }),
            "its replay's times are beyond belief");
  EXPECT_EQ(fault_of([](RankSummary& rank) { rank.replay.refused = "no"; }), "none");
}

}  // namespace
}  // namespace stepscope

// The reduced graph against the whole one: the same times for any times of the collectives.
#include "fleet/reduced_replay.h"

#include <gtest/gtest.h>

#include "analyze/replay/random_run.h"
#include "fleet/replay_comparison.h"

namespace stepscope {
namespace {

Facts facts_at_random(const Trace& trace) {
  Facts facts = compute_facts(trace, {});
  facts.what_ifs.self_check.refused.reset();  // random delays look like nothing that a real GPU does
  if (facts.what_ifs.results.empty()) facts.what_ifs.results.emplace_back();
  return facts;
}

class RandomReducedReplay : public testing::TestWithParam<unsigned> {};

TEST_P(RandomReducedReplay, GivesTheRecordedTimes) {
  const Trace trace = RandomRun(GetParam(), false).make();
  const Facts facts = facts_at_random(trace);
  const std::vector<GpuEventId> collectives = collective_events(trace, facts);
  const SummaryReplay replay = reduce_replay(trace, facts, collectives, facts.steps.steps.size());
  ASSERT_FALSE(replay.refused) << *replay.refused;
  std::vector<DurationNs> length;
  for (const GpuEventId event : collectives) {
    length.push_back(facts.timeline.end_ns[event] - trace.gpu_events.start_ns[event]);
  }
  const std::vector<DurationNs> at = replay_alone(replay, length, 0);
  for (std::size_t p = 0; p < at.size(); ++p) {
    EXPECT_EQ(at[p], replay.points[p].recorded_ns - replay.points[0].recorded_ns) << "point " << p;
  }
  ASSERT_EQ(replay.step_count, facts.steps.steps.size());
}

TEST_P(RandomReducedReplay, GivesTheTimesOfTheWholeGraph) {
  const Trace trace = RandomRun(GetParam(), false).make();
  const Facts facts = facts_at_random(trace);
  expect_times_of_whole_graph(trace, facts, GetParam());
}

// Steps are left out from the last on until the rest fits; a step whose collectives are not all listed ends it, too.
TEST(ReducedReplay, LeavesOutLastSteps) {
  const Trace trace = RandomRun(3, false).make();
  const Facts facts = facts_at_random(trace);
  std::vector<GpuEventId> collectives = collective_events(trace, facts);
  const std::size_t steps = facts.steps.steps.size();
  const SummaryReplay all = reduce_replay(trace, facts, collectives, steps);
  ASSERT_EQ(all.step_count, 4U);
  const SummaryReplay fewer = reduce_replay(trace, facts, collectives, steps, {estimate_replay_bytes(all) - 1, 0});
  ASSERT_FALSE(fewer.refused) << *fewer.refused;
  EXPECT_LT(fewer.step_count, 4U);
  EXPECT_GE(fewer.step_count, 1U);
  EXPECT_LT(estimate_replay_bytes(fewer), estimate_replay_bytes(all));
  EXPECT_EQ(reduce_replay(trace, facts, collectives, 2).step_count, 2U);
  const SummaryReplay none = reduce_replay(trace, facts, collectives, steps, {5, 5});
  EXPECT_EQ(none.refused, "one step has more meetings than a summary holds");
  EXPECT_TRUE(none.points.empty());
  const SummaryReplay one = reduce_replay(trace, facts, collectives, steps, {5, estimate_replay_bytes(all)});
  EXPECT_FALSE(one.refused) << "one step may take more than its share";
  EXPECT_EQ(one.step_count, 1U);

  for (GpuEventId& event : collectives) {
    const CallId call = trace.gpu_events.call[event];
    if (facts.steps.find_by_host_time(trace.calls.start_ns[call]) == 2U) event = {};
  }
  EXPECT_EQ(reduce_replay(trace, facts, collectives, steps).step_count, 2U);
}

TEST(ReducedReplay, CollectivesInGraphsAreRefused) {
  std::size_t refused = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Trace trace = RandomRun(seed).make();
    const Facts facts = facts_at_random(trace);
    const SummaryReplay replay = reduce_replay(trace, facts, collective_events(trace, facts), 4);
    if (!replay.refused) continue;
    EXPECT_EQ(*replay.refused, "its collectives run inside GPU graphs, whose parts cannot be moved apart");
    ++refused;
  }
  EXPECT_GT(refused, 5U);
}

TEST(ReducedReplay, WhatTheRankRefusesIsRefused) {
  const Trace trace = RandomRun(3, false).make();
  Facts facts = facts_at_random(trace);
  facts.what_ifs.self_check.refused = "no";
  EXPECT_EQ(reduce_replay(trace, facts, collective_events(trace, facts), 4).refused, "no");
  facts = facts_at_random(trace);
  EXPECT_EQ(reduce_replay(trace, facts, collective_events(trace, facts), 0).refused, "no step is kept");
}

INSTANTIATE_TEST_SUITE_P(Runs, RandomReducedReplay, testing::Range(0U, 100U));

}  // namespace
}  // namespace stepscope

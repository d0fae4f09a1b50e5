// The reduced graph against the whole one: the same times for any times of the collectives.
#include "fleet/reduced_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analyze/collectives.h"
#include "analyze/replay/random_run.h"
#include "analyze/run_replay.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

using Kind = SummaryReplayPoint::Kind;

std::vector<GpuEventId> events_of(const Trace& trace, const Facts& facts) {
  std::vector<GpuEventId> events;
  if (facts.busy.empty()) return events;
  for (const CollectiveRun& run :
       find_collectives(trace, facts.timeline, facts.classes, facts.steps, facts.busy[facts.main_device].device)) {
    events.push_back(run.event);
  }
  return events;
}

DurationNs weight_of(const SummaryReplayEdge& edge, std::size_t lane) {
  return lane == 0 ? edge.recorded_ns : lane == 1 ? edge.unprofiled_ns : edge.uncontended_ns;
}

// Times of the points when collective c takes length[c].
std::vector<DurationNs> replay_alone(const SummaryReplay& replay, const std::vector<DurationNs>& length,
                                     std::size_t lane) {
  std::vector<DurationNs> at(replay.points.size(), 0), arrival(length.size(), 0);
  std::size_t e = 0;
  for (std::uint32_t p = 0; p < replay.points.size(); ++p) {
    const SummaryReplayPoint& point = replay.points[p];
    if (p > 0) at[p] = kNever;
    for (; e < replay.edges.size() && replay.edges[e].to == p; ++e) {
      EXPECT_LT(replay.edges[e].from, p);
      at[p] = std::max(at[p], at[replay.edges[e].from] + weight_of(replay.edges[e], lane));
    }
    if (point.kind == Kind::kArrival) arrival[point.of] = at[p];
    if (point.kind == Kind::kEnd) at[p] = arrival[point.of] + length[point.of];
    EXPECT_GT(at[p], kNever / 2) << "nothing leads to point " << p;
  }
  EXPECT_EQ(e, replay.edges.size());
  return at;
}

// The whole graph with the same lengths: the boundaries of its steps.
std::vector<Lanes> replay_whole(const RunReplay& run, const std::vector<GpuEventId>& collectives,
                                const std::vector<DurationNs>& length, bool uncontended) {
  std::vector<Lanes> weights = run.weights;
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const ReplayEdge& edge = run.graph.edges[e];
    if (edge.kind != EdgeKind::kDuration) continue;
    const UnitEndId end(edge.item);
    const GpuUnit& unit = run.graph.units[run.graph.ends[end].unit];
    const auto found = std::find(collectives.begin(), collectives.end(), run.graph.events_of(unit).front());
    if (found != collectives.end() && !unit.is_before) {
      weights[e] = all_lanes(length[static_cast<std::size_t>(found - collectives.begin())]);
    } else if (uncontended) {
      for (DurationNs& lane : weights[e])
        lane = std::max(std::min<DurationNs>(0, lane), lane - run.contention_ns[end.value]);
    }
  }
  std::vector<Lanes> times;
  evaluate(run.graph, weights, times);
  return compute_step_durations(run.graph, times);
}

std::vector<DurationNs> steps_of(const SummaryReplay& replay, const std::vector<DurationNs>& at) {
  std::vector<DurationNs> steps(replay.step_count, 0);
  for (std::size_t p = 0; p < at.size(); ++p) {
    if (replay.points[p].kind == Kind::kStepStart) steps[replay.points[p].of] -= at[p];
    if (replay.points[p].kind == Kind::kStepEnd) steps[replay.points[p].of] += at[p];
  }
  return steps;
}

Facts facts_at_random(const Trace& trace) {
  Facts facts = compute_facts(trace, {});
  facts.what_ifs.self_check.refused.reset();  // random delays look like nothing that a real GPU does
  if (facts.what_ifs.results.empty()) facts.what_ifs.results.emplace_back();
  return facts;
}

class ReducedReplay : public testing::TestWithParam<unsigned> {};

TEST_P(ReducedReplay, GivesTheRecordedTimes) {
  const Trace trace = RandomRun(GetParam(), false).make();
  const Facts facts = facts_at_random(trace);
  const std::vector<GpuEventId> collectives = events_of(trace, facts);
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

TEST_P(ReducedReplay, GivesTheTimesOfTheWholeGraph) {
  const Trace trace = RandomRun(GetParam(), false).make();
  const Facts facts = facts_at_random(trace);
  const std::vector<GpuEventId> collectives = events_of(trace, facts);
  const SummaryReplay replay = reduce_replay(trace, facts, collectives, facts.steps.steps.size());
  ASSERT_FALSE(replay.refused) << *replay.refused;
  const RunReplay run = build_run_replay(trace, facts, facts.steps.steps.size());
  std::mt19937 random(GetParam());
  for (int round = 0; round < 20; ++round) {
    std::vector<DurationNs> length;
    for (const GpuEventId event : collectives) {
      const DurationNs recorded = facts.timeline.end_ns[event] - trace.gpu_events.start_ns[event];
      const int how = std::uniform_int_distribution(0, 3)(random);
      length.push_back(how == 0   ? 0
                       : how == 1 ? recorded
                                  : std::uniform_int_distribution<DurationNs>(0, 400'000)(random));
    }
    const std::vector<Lanes> whole = replay_whole(run, collectives, length, false);
    const std::vector<Lanes> uncontended = replay_whole(run, collectives, length, true);
    for (std::size_t lane = 0; lane < 3; ++lane) {
      const std::vector<DurationNs> reduced = steps_of(replay, replay_alone(replay, length, lane));
      ASSERT_EQ(reduced.size(), whole.size());
      for (std::size_t k = 0; k < reduced.size(); ++k) {
        ASSERT_EQ(reduced[k], lane == 0   ? whole[k][kRecorded]
                              : lane == 1 ? whole[k][kMid]
                                          : uncontended[k][kMid])
            << "step " << k << ", lane " << lane << ", round " << round;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, ReducedReplay, testing::Range(0U, 100U));

}  // namespace
}  // namespace stepscope

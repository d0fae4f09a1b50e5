// For tests: a reduced graph against the whole one, for any times of the collectives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analyze/collectives.h"
#include "analyze/run_replay.h"
#include "fleet/reduced_replay.h"

namespace stepscope {

inline std::vector<GpuEventId> collective_events(const Trace& trace, const Facts& facts) {
  std::vector<GpuEventId> events;
  if (facts.busy.empty()) return events;
  for (const CollectiveRun& run :
       find_collectives(trace, facts.timeline, facts.classes, facts.steps, facts.busy[facts.main_device].device)) {
    events.push_back(run.event);
  }
  return events;
}

inline DurationNs weight_of(const SummaryReplayEdge& edge, std::size_t lane) {
  return lane == 0 ? edge.recorded_ns : lane == 1 ? edge.unprofiled_ns : edge.uncontended_ns;
}

// Times of the points when collective c takes length[c].
inline std::vector<DurationNs> replay_alone(const SummaryReplay& replay, const std::vector<DurationNs>& length,
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
    if (point.kind == SummaryReplayPoint::Kind::kArrival) arrival[point.of] = at[p];
    if (point.kind == SummaryReplayPoint::Kind::kEnd) at[p] = arrival[point.of] + length[point.of];
    EXPECT_GT(at[p], kNever / 2) << "nothing leads to point " << p;
  }
  EXPECT_EQ(e, replay.edges.size());
  return at;
}

// The whole graph with the same lengths: the boundaries of its steps.
inline std::vector<Lanes> replay_whole(const RunReplay& run, const std::vector<GpuEventId>& collectives,
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

inline std::vector<DurationNs> steps_of(const SummaryReplay& replay, const std::vector<DurationNs>& at) {
  std::vector<DurationNs> steps(replay.step_count, 0);
  for (std::size_t p = 0; p < at.size(); ++p) {
    if (replay.points[p].kind == SummaryReplayPoint::Kind::kStepStart) steps[replay.points[p].of] -= at[p];
    if (replay.points[p].kind == SummaryReplayPoint::Kind::kStepEnd) steps[replay.points[p].of] += at[p];
  }
  return steps;
}

inline void expect_times_of_whole_graph(const Trace& trace, const Facts& facts, unsigned seed) {
  const std::vector<GpuEventId> collectives = collective_events(trace, facts);
  const SummaryReplay replay = reduce_replay(trace, facts, collectives, facts.steps.steps.size());
  ASSERT_FALSE(replay.refused) << *replay.refused;
  const RunReplay run = build_run_replay(trace, facts, facts.steps.steps.size());
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<DurationNs> length;
    for (const GpuEventId event : collectives) {
      const DurationNs recorded = facts.timeline.end_ns[event] - trace.gpu_events.start_ns[event];
      const int how = std::uniform_int_distribution(0, 3)(random);
      const DurationNs any = std::uniform_int_distribution<DurationNs>(0, 3 * recorded + 100'000)(random);
      length.push_back(how == 0 ? 0 : how == 1 ? recorded : any);
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

}  // namespace stepscope

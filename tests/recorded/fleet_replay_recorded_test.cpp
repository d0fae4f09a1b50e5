// The recorded pairs replayed together, against what was measured without the profiler: 62 to 65 ms with the straggler,
// 37.4 without (tests/data/README.md).
#include <gtest/gtest.h>

#include <map>

#include "fleet/replay_comparison.h"
#include "fleet/replay_run.h"
#include "fleet/summarize.h"
#include "recorded/recorded_trace.h"

namespace stepscope {
namespace {

double ms(DurationNs length) { return static_cast<double>(length) / 1e6; }

RunSummary pair_of(const std::string& name) {
  RunSummary run;
  for (const char* rank : {"_rank0", "_rank1"}) {
    const Trace& trace = recorded_trace("h200/" + name + rank);
    run.ranks.push_back(summarize_trace(trace, compute_facts(trace, {}), {}, ""));
  }
  return run;
}

const FleetReplay& replay_of(const std::string& name) {
  static std::map<std::string, std::pair<RunSummary, FleetReplay>> known;
  auto at = known.find(name);
  if (at == known.end()) {
    RunSummary run = pair_of(name);
    FleetReplay replay = replay_run(run, compute_fleet_facts(run));
    at = known.emplace(name, std::pair(std::move(run), std::move(replay))).first;
  }
  return at->second.second;
}

class EveryPair : public testing::TestWithParam<const char*> {};

TEST_P(EveryPair, ReplaysToItsOwnTime) {
  const FleetReplay& replay = replay_of(GetParam());
  ASSERT_FALSE(replay.refused) << *replay.refused;
  EXPECT_LE(replay.replay_error_ratio, 0.001);
  EXPECT_EQ(replay.rank_count, 2U);
  EXPECT_EQ(replay.step_count, 3U);
  EXPECT_EQ(replay.meeting_count, 30);
  EXPECT_EQ(replay.incomplete_count, 0);
  EXPECT_TRUE(replay.remarks.empty());
  const FleetWhatIf* unchanged = replay.find(FleetTransform::kUnchanged);
  ASSERT_TRUE(unchanged);
  EXPECT_NEAR(ms(unchanged->step_recorded_ns), ms(replay.recorded_step_ns), 0.01 * ms(replay.recorded_step_ns));
  for (const FleetWhatIf& what_if : replay.what_ifs) {
    ASSERT_FALSE(what_if.refused);
    EXPECT_LE(what_if.step_unprofiled.low_ns, what_if.step_unprofiled.mid_ns);
    EXPECT_LE(what_if.step_unprofiled.mid_ns, what_if.step_unprofiled.high_ns);
    EXPECT_LE(what_if.step_unprofiled.mid_ns, unchanged->step_unprofiled.mid_ns);
    EXPECT_LE(what_if.step_recorded_ns, unchanged->step_recorded_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryPair, testing::Values("ddp", "straggler"));

TEST(RecordedFleetReplay, WithoutItsStraggler) {
  const FleetReplay& replay = replay_of("straggler");
  const FleetWhatIf* mended = replay.find(FleetTransform::kRankAsMedian, 1U);
  ASSERT_TRUE(mended);
  EXPECT_EQ(mended->like_rank, 0U);
  EXPECT_NEAR(ms(mended->step_unprofiled.mid_ns), 37.4, 0.05 * 37.4);
  EXPECT_LE(ms(mended->step_unprofiled.low_ns), 37.4);
  EXPECT_GE(ms(mended->step_unprofiled.high_ns), 37.4);
  // Recorded, the healthy pair takes 38.0.
  EXPECT_NEAR(ms(mended->step_recorded_ns), 38.0, 0.05 * 38.0);
  EXPECT_EQ(replay.find(FleetTransform::kRankAsMedian, 0U), nullptr);
  // The straggler's own work is the step; what it costs the other to wait beside its compute came back above.
  EXPECT_NEAR(ms(replay.own_step_ns[0]), 37.4, 0.05 * 37.4);
}

// The middle inherits what each rank's replay without the profiler is off where the host decides (here 3.4%).
TEST(RecordedFleetReplay, WithItsStraggler) {
  const Estimate step = replay_of("straggler").find(FleetTransform::kUnchanged)->step_unprofiled;
  EXPECT_GE(ms(step.mid_ns), 0.95 * 62);
  EXPECT_LE(ms(step.mid_ns), 65);
  EXPECT_LE(ms(step.low_ns), 62);
  EXPECT_GE(ms(step.high_ns), 65);
}

// Recorded nothing changes; without the profiler the middle is 5.2% low, as that of each rank alone is (6%): what was
// measured may be another optimizer's step (docs/decisions/unprofiled-step.md).
TEST(RecordedFleetReplay, AHealthyPairGainsNothing) {
  const FleetReplay& replay = replay_of("ddp");
  const FleetWhatIf* unchanged = replay.find(FleetTransform::kUnchanged);
  EXPECT_LE(ms(unchanged->step_unprofiled.low_ns), 37.4);
  EXPECT_GE(ms(unchanged->step_unprofiled.high_ns), 37.4);
  EXPECT_NEAR(ms(unchanged->step_unprofiled.mid_ns), 37.4, 0.06 * 37.4);
  for (const std::uint32_t rank : {0U, 1U}) {
    const FleetWhatIf* as_other = replay.find(FleetTransform::kRankAsMedian, rank);
    ASSERT_TRUE(as_other);
    EXPECT_NEAR(ms(as_other->step_recorded_ns), ms(unchanged->step_recorded_ns), 0.01 * 38);
    EXPECT_NEAR(ms(as_other->step_unprofiled.mid_ns), ms(unchanged->step_unprofiled.mid_ns), 0.025 * 38);
  }
  EXPECT_LE(ms(replay.find(FleetTransform::kCommunicationFree)->saving.mid_ns), 0.05 * 38);
}

TEST(RecordedFleetReplay, ReducedGraphsGiveTheTimesOfWholeOnes) {
  for (const char* name : {"ddp_rank0", "ddp_rank1", "straggler_rank0", "straggler_rank1", "solid", "mask_sync"}) {
    const Trace& trace = recorded_trace(std::string("h200/") + name);
    expect_times_of_whole_graph(trace, compute_facts(trace, {}), 1);
  }
}

TEST(RecordedFleetReplay, PointsAreWhereStepsAndCollectivesAre) {
  for (const char* name : {"ddp_rank0", "ddp_rank1", "straggler_rank0", "straggler_rank1"}) {
    const Trace& trace = recorded_trace(std::string("h200/") + name);
    const Facts facts = compute_facts(trace, {});
    const RankSummary summary = summarize_trace(trace, facts, {}, "");
    ASSERT_FALSE(summary.replay.refused) << *summary.replay.refused;
    EXPECT_EQ(summary.replay.step_count, 3U);
    EXPECT_LE(estimate_replay_bytes(summary.replay), 30U * 60);
    for (const SummaryReplayPoint& point : summary.replay.points) {
      if (point.kind == SummaryReplayPoint::Kind::kStepStart) {
        EXPECT_EQ(point.recorded_ns, summary.steps[point.of].start_ns);
      } else if (point.kind == SummaryReplayPoint::Kind::kStepEnd) {
        EXPECT_EQ(point.recorded_ns, summary.steps[point.of].start_ns + summary.steps[point.of].duration_ns);
      } else if (point.kind == SummaryReplayPoint::Kind::kArrival) {
        EXPECT_EQ(point.recorded_ns, summary.collectives[point.of].start_ns);
      } else if (point.kind == SummaryReplayPoint::Kind::kEnd) {
        EXPECT_EQ(point.recorded_ns, summary.collectives[point.of].end_ns);
      }
    }
  }
}

}  // namespace
}  // namespace stepscope

// Drawn fleets whose what-ifs can be counted by hand.
#include "fleet/fleet_replay.h"

#include <gtest/gtest.h>

#include <random>

#include "fleet/fleet_picture.h"
#include "fleet/replay_run.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

double ms(DurationNs length) { return static_cast<double>(length) / 1e6; }

RunSummary drawn(std::string_view picture) {
  MadeFleet fleet(picture);
  give_chain_replays(fleet.run);
  return std::move(fleet.run);
}

FleetReplay replay(const RunSummary& run, std::span<const std::uint32_t> suspects = {}) {
  return replay_fleet({run, {}, match_by_name(run), {}}, suspects);
}

double after_ms(const FleetReplay& replay, FleetTransform transform, std::optional<std::uint32_t> rank = {}) {
  const FleetWhatIf* what_if = replay.find(transform, rank);
  if (!what_if || what_if->refused) return -1;
  EXPECT_EQ(what_if->step_unprofiled.mid_ns, what_if->step_recorded_ns);  // drawn without a profiler's cost
  EXPECT_LE(what_if->step_unprofiled.low_ns, what_if->step_unprofiled.mid_ns);
  EXPECT_GE(what_if->step_unprofiled.high_ns, what_if->step_unprofiled.mid_ns);
  return ms(what_if->step_recorded_ns);
}

// Rank 1 works 8 ms before the collective, rank 0 works 3; both 2 after; the transfer takes 3.
constexpr std::string_view kStraggler =
    "rank 0 |cccA-------cc|cccA-------cc|cccA-------cc|\n"
    "rank 1 |ccccccccA--cc|ccccccccA--cc|ccccccccA--cc|\n"
    "A = allreduce of dp on 0 1, 100 MB\n";

TEST(FleetReplay, AStragglerOfTwo) {
  const RunSummary run = drawn(kStraggler);
  const FleetReplay answer = replay(run);
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(answer.replay_error_ratio, 0);
  EXPECT_EQ(ms(answer.recorded_step_ns), 13);
  EXPECT_EQ(answer.rank_count, 2U);
  EXPECT_EQ(answer.step_count, 3U);
  EXPECT_EQ(answer.meeting_count, 3);
  EXPECT_EQ(answer.incomplete_count, 0);
  EXPECT_TRUE(answer.remarks.empty());
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 13);
  EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, 1U), 8);
  EXPECT_EQ(answer.find(FleetTransform::kRankAsMedian, 1U)->like_rank, 0U);
  EXPECT_EQ(ms(answer.find(FleetTransform::kRankAsMedian, 1U)->saving.mid_ns), 5);
  EXPECT_EQ(answer.find(FleetTransform::kRankAsMedian, 0U), nullptr);  // nobody waited for it
  EXPECT_EQ(after_ms(answer, FleetTransform::kNobodyWaits), 13);       // the straggler still has as much to do
  EXPECT_EQ(after_ms(answer, FleetTransform::kCommunicationFree), 10);
  EXPECT_EQ(answer.find(FleetTransform::kGroupFree), nullptr);
  EXPECT_EQ(ms(answer.own_step_ns[0]), 8);
  EXPECT_EQ(ms(answer.own_step_ns[1]), 13);
}

TEST(FleetReplay, AskedForARankThatIsInTime) {
  const RunSummary run = drawn(kStraggler);
  const std::uint32_t suspects[] = {0};
  const FleetReplay answer = replay(run, suspects);
  EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, 0U), 13);  // as slow as rank 1: no saving
  EXPECT_EQ(answer.find(FleetTransform::kRankAsMedian, 0U)->saving.mid_ns, 0);
}

TEST(FleetReplay, EvenRanksGainNothing) {
  const FleetReplay answer =
      replay(drawn("rank 0 |ccccA---cc|ccccA---cc|ccccA---cc|\n"
                   "rank 1 |ccccA---cc|ccccA---cc|ccccA---cc|\n"
                   "A = allreduce of dp on 0 1\n"));
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 10);
  EXPECT_EQ(after_ms(answer, FleetTransform::kNobodyWaits), 10);
  EXPECT_EQ(after_ms(answer, FleetTransform::kCommunicationFree), 6);
  EXPECT_EQ(answer.find(FleetTransform::kRankAsMedian), nullptr);
}

// In each step another rank is late: nobody is to blame, and waits go away only if all are in time.
TEST(FleetReplay, RanksThatTakeTurns) {
  const RunSummary run = drawn(
      "rank 0 |ccccccA-c|ccA-----c|ccA-----c|\n"
      "rank 1 |ccA-----c|ccccccA-c|ccA-----c|\n"
      "rank 2 |ccA-----c|ccA-----c|ccccccA-c|\n"
      "A = allreduce of dp on 0 1 2\n");
  const FleetReplay answer = replay(run);
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 9);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, rank), 9) << rank;
  }
  EXPECT_EQ(ms(answer.own_step_ns[0]), 5);
  EXPECT_LT(after_ms(answer, FleetTransform::kNobodyWaits), 9);
}

// Two tensor-parallel pairs (A: 0 1, B: 2 3) and two data-parallel pairs (D: 0 2, E: 1 3). Rank 3 computes 4 ms longer:
// rank 2 waits for it in B, ranks 0 and 1 in D and E, where rank 2 is as late as rank 3.
constexpr std::string_view kTwoByTwo =
    "rank 0 |ccA-ccD-----c|ccA-ccD-----c|ccA-ccD-----c|\n"
    "rank 1 |ccA-ccE-----c|ccA-ccE-----c|ccA-ccE-----c|\n"
    "rank 2 |ccB-----ccD-c|ccB-----ccD-c|ccB-----ccD-c|\n"
    "rank 3 |ccccccB-ccE-c|ccccccB-ccE-c|ccccccB-ccE-c|\n"
    "A = allreduce of tp0 on 0 1\n"
    "B = allreduce of tp1 on 2 3\n"
    "D = allreduce of dp0 on 0 2\n"
    "E = allreduce of dp1 on 1 3\n";

RunSummary two_by_two() {
  RunSummary run = drawn(kTwoByTwo);
  for (RankSummary& rank : run.ranks) {
    for (SummaryGroup& group : rank.groups) group.description = group.name.starts_with("tp") ? "mesh_tp" : "mesh_dp";
  }
  return run;
}

TEST(FleetReplay, TwoGroupsOfFourRanks) {
  const RunSummary run = two_by_two();
  const std::uint32_t suspects[] = {2, 3};
  const FleetReplay answer = replay(run, suspects);
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(answer.replay_error_ratio, 0);
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 13);
  EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, 3U), 9);
  EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, 2U), 13);  // late only because rank 3 is
  EXPECT_EQ(after_ms(answer, FleetTransform::kNobodyWaits), 13);
  EXPECT_EQ(after_ms(answer, FleetTransform::kCommunicationFree), 9);
  for (const char* kind : {"mesh_tp", "mesh_dp"}) {
    const auto free = std::find_if(answer.what_ifs.begin(), answer.what_ifs.end(),
                                   [&](const FleetWhatIf& what_if) { return what_if.group == kind; });
    ASSERT_NE(free, answer.what_ifs.end());
    EXPECT_EQ(free->transform, FleetTransform::kGroupFree);
    EXPECT_EQ(ms(free->step_recorded_ns), 11) << kind;
  }
}

TEST(FleetReplay, TheRootOfABroadcastLeavesEarly) {
  RunSummary run = drawn(
      "rank 0 |cccA-ccccccc|\n"
      "rank 1 |ccccccA-cccc|\n"
      "A = broadcast of dp on 0 1\n");
  FleetReplayInput input{run, {}, match_by_name(run), {}};
  for (ReplayMeeting& meeting : input.meetings) meeting.ends_together = false;
  const FleetReplay answer = replay_fleet(input);
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 12);
  EXPECT_EQ(answer.incomplete_count, 0);
}

TEST(FleetReplay, CollectivesOfSeveralGroupsMayMeetInAnyOrder) {
  // Rank 0 meets first A, then B; rank 1 the other way round, in what its own order of time says. On real streams they
  // run beside each other; a chain cannot, so this can only be refused, not hang.
  const RunSummary run = drawn(
      "rank 0 |A-B-c|\n"
      "rank 1 |B-A-c|\n"
      "A = allreduce of one on 0 1\n"
      "B = allreduce of two on 0 1\n");
  const FleetReplay answer = replay(run);
  ASSERT_TRUE(answer.refused);
  EXPECT_EQ(*answer.refused, "collectives that were matched wait for each other in a circle");
}

TEST(FleetReplay, AMissingRankLeavesItsWaits) {
  RunSummary run = drawn(
      "rank 0 |cccA-------cc|cccA-------cc|\n"
      "rank 1 |cccccA-----cc|cccccA-----cc|\n"
      "rank 2 |ccccccccA--cc|ccccccccA--cc|\n"
      "A = allreduce of dp on 0 1 2\n");
  run.ranks.pop_back();
  const FleetReplay answer = replay(run);
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(answer.incomplete_count, 2);
  ASSERT_EQ(answer.remarks.size(), 1U);
  EXPECT_EQ(answer.remarks[0], "of 2 collectives 2 lack ranks: what was waited for those counts as transfer and stays");
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 13);
  // Whether the missing rank was in time at 5 ms is not known: its 6 ms of transfer stay.
  EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, 1U), 11);
  // Nor is what all wait for together: "nobody waits" would take the wait for the missing rank for a transfer.
  for (const FleetTransform of : {FleetTransform::kNobodyWaits, FleetTransform::kCommunicationFree}) {
    ASSERT_TRUE(answer.find(of) && answer.find(of)->refused);
    EXPECT_EQ(*answer.find(of)->refused, "most collectives lack ranks, and what was waited for those is not known");
  }
}

TEST(FleetReplay, RanksWithoutAReplayAreNamed) {
  RunSummary run = drawn(kStraggler);
  run.ranks[0].replay = {};
  run.ranks[0].replay.refused = "2.0% of the GPU events have no launch call";
  const FleetReplay one = replay(run);
  ASSERT_FALSE(one.refused);
  EXPECT_EQ(one.rank_count, 1U);
  ASSERT_EQ(one.remarks.size(), 2U);
  EXPECT_EQ(one.remarks[0], "1 rank is not replayed: 2.0% of the GPU events have no launch call");
  EXPECT_EQ(after_ms(one, FleetTransform::kUnchanged), 13);
  ASSERT_TRUE(one.find(FleetTransform::kNobodyWaits)->refused);
  EXPECT_EQ(*one.find(FleetTransform::kNobodyWaits)->refused,
            "ranks are not replayed, and what was waited for them is not known");
  run.ranks[1].replay = run.ranks[0].replay;
  const FleetReplay none = replay(run);
  ASSERT_TRUE(none.refused);
  EXPECT_EQ(*none.refused, "no rank can be replayed: 2.0% of the GPU events have no launch call");
  EXPECT_EQ(*replay({}).refused, "there is no rank");
}

TEST(FleetReplay, StepsThatAreNotReplayedAreCounted) {
  RunSummary run = drawn(kStraggler);
  for (RankSummary& rank : run.ranks) {
    SummaryStep later = rank.steps.back();
    ++later.number;
    rank.steps.push_back(later);
  }
  const FleetReplay answer = replay(run);
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(answer.step_count, 3U);
  EXPECT_EQ(answer.remarks, std::vector<std::string>{"the replays that summaries hold leave out 1 of 4 steps"});
}

TEST(FleetReplay, NoPeerNoAnswer) {
  const RunSummary run = drawn(
      "rank 0 |ccA---c|ccA---c|\n"
      "rank 1 |ccccA-c|ccccA-c|\n"
      "rank 2 |ccccccc|ccccccc|\n"
      "A = allreduce of dp on 0 1\n");
  const std::uint32_t suspects[] = {2};
  const FleetReplay answer = replay(run, suspects);
  const FleetWhatIf* alone = answer.find(FleetTransform::kRankAsMedian, 2U);
  ASSERT_TRUE(alone && alone->refused);
  EXPECT_EQ(*alone->refused, "no other rank runs the same collectives");
}

TEST(FleetReplay, ClocksThatDoNotFitAreRefused) {
  RunSummary run = drawn(kStraggler);
  FleetReplayInput input{run, {0, 4'000'000}, match_by_name(run), {}};  // rank 1 seems to come 4 ms later
  const FleetReplay wrong = replay_fleet(input);
  ASSERT_TRUE(wrong.refused);
  EXPECT_NE(wrong.refused->find("clocks or collectives do not fit together"), std::string::npos) << *wrong.refused;
}

TEST(FleetReplay, OffsetsPutRanksOnOneClock) {
  MadeFleet fleet(kStraggler);
  fleet.shift(1, 50'000'000);
  give_chain_replays(fleet.run);
  FleetReplayInput input{fleet.run, {0, -50'000'000}, match_by_name(fleet.run), {}};
  const FleetReplay answer = replay_fleet(input);
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, 1U), 8);
}

TEST(FleetReplay, TheRunsOwnFactsGiveTheSame) {
  MadeFleet fleet(kStraggler);
  fleet.shift(1, 50'000'000);
  give_chain_replays(fleet.run);
  const FleetReplay answer = replay_run(fleet.run, compute_fleet_facts(fleet.run));
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 13);
  EXPECT_EQ(after_ms(answer, FleetTransform::kRankAsMedian, 1U), 8);
}

// In two of its steps rank 1 writes a snapshot for 6 ms.
TEST(FleetReplay, StepsThatWaitedForUsCountInNoMedian) {
  MadeFleet fleet(
      "rank 0 |cccA-cc|cccA-------cc|cccA-------cc|\n"
      "rank 1 |cccA-cc|ccc......A-cc|ccc......A-cc|\n"
      "A = allreduce of dp on 0 1, 100 MB\n");
  give_chain_replays(fleet.run);
  EXPECT_EQ(after_ms(replay_run(fleet.run, compute_fleet_facts(fleet.run)), FleetTransform::kUnchanged), 13);
  for (std::size_t step = 1; step < 3; ++step)
    fleet.rank(1).own_stops.push_back({fleet.rank(1).steps[step].start_ns + 3'000'000, 6'000'000});
  const FleetReplay answer = replay_run(fleet.run, compute_fleet_facts(fleet.run));
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(answer.step_count, 1U);
  EXPECT_EQ(ms(answer.recorded_step_ns), 7);
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 7);
  EXPECT_TRUE(answer.remarks.empty());
}

// Rank 0 computes for 8 ms beside the collective in which it waits for rank 1; the same work takes rank 1, which never
// waits, 4 ms. A rank that came in time would find rank 0 as fast.
TEST(FleetReplay, ComputeBesideAWaitGetsItsSpeedBack) {
  using Kind = SummaryReplayPoint::Kind;
  constexpr DurationNs kMs = 1'000'000;
  RunSummary run;
  for (int r = 0; r < 2; ++r) {
    RankSummary& rank = run.ranks.emplace_back();
    rank.groups.push_back({"dp", "", {}, {0, 1}});
    rank.collective_names = {"allreduce"};
    for (std::uint32_t s = 0; s < 2; ++s) {
      const TimeNs start = s * 25 * kMs;
      const DurationNs before = r == 0 ? 2 * kMs : 18 * kMs, beside = r == 0 ? 8 * kMs : 4 * kMs;
      SummaryStep step;
      step.number = s;
      step.start_ns = start;
      step.duration_ns = 25 * kMs;
      rank.steps.push_back(step);
      SummaryCollective all;
      all.step = s;
      all.start_ns = start + before;
      all.end_ns = start + 18 * kMs + kMs / 2;  // transfers 0.5 ms
      rank.collectives.push_back(all);
      const auto first = static_cast<std::uint32_t>(rank.replay.points.size());
      auto& points = rank.replay.points;
      auto& edges = rank.replay.edges;
      if (s == 0) {
        points.push_back({Kind::kOrigin, 0, 0});
        points.push_back({Kind::kStepStart, 0, 0});
        edges.push_back({0, 1, 0, 0, 0});
      } else {
        points.push_back({Kind::kStepStart, s, start});
        edges.push_back({first - 1, first, 0, 0, 0});
      }
      const auto at = static_cast<std::uint32_t>(points.size());
      const std::uint32_t from = at - 1;
      points.push_back({Kind::kReady, s, start + before});
      points.push_back({Kind::kArrival, s, start + before});
      points.push_back({Kind::kPass, s, start + before + beside});  // the next collective's data, say
      points.push_back({Kind::kEnd, s, all.end_ns});
      points.push_back({Kind::kStepEnd, s, start + 25 * kMs});
      edges.push_back({from, at, before, before, before});
      edges.push_back({at, at + 1, 0, 0, 0});
      edges.push_back({at, at + 2, beside, beside, beside});
      const DurationNs after = 3 * kMs, after_end = 25 * kMs - 18 * kMs - kMs / 2;
      edges.push_back({at + 2, at + 4, after, after, after});
      edges.push_back({at + 3, at + 4, after_end, after_end, after_end});
    }
    rank.replay.step_count = 2;
  }
  // As fast as rank 0, rank 1 arrives at 2 ms; the end comes at 2.5 and what follows it takes 6.5: 9 ms, in which
  // 4 ms of compute and 3 more after them are done. With compute as slow as rank 0's was it were 2 + 8 + 3 = 13.
  const FleetReplay answer = replay(run);
  ASSERT_FALSE(answer.refused) << *answer.refused;
  EXPECT_EQ(after_ms(answer, FleetTransform::kUnchanged), 25);
  const double after = ms(answer.find(FleetTransform::kRankAsMedian, 1U)->step_recorded_ns);
  EXPECT_GE(after, 9.0);
  EXPECT_LE(after, 9.5);  // of 8 ms beside 16.5 the share that is left, 0.5 of 16.5, stays slow
}

// Sixteen data-parallel ranks, one of which takes half as long again; what the step would be without it tells the same
// program run without it.
TEST(FleetReplay, WhatWouldBeIsWhatIsWithoutTheStraggler) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    MadeDdp made;
    made.rank_count = 16;
    made.seed = seed;
    RunSummary run = make_ddp(made);
    const std::vector<ReplayMeeting> meetings = match_by_name(run);
    settle(run, meetings, made.transfer_ns);
    const FleetReplay healthy = replay_fleet({run, {}, meetings, {}});
    ASSERT_FALSE(healthy.refused) << *healthy.refused;
    const std::uint32_t late = seed % made.rank_count;
    for (SummaryReplayEdge& edge : run.ranks[late].replay.edges) {
      edge.recorded_ns += edge.recorded_ns / 2;
      edge.unprofiled_ns += edge.unprofiled_ns / 2;
      edge.uncontended_ns += edge.uncontended_ns / 2;
    }
    settle(run, meetings, made.transfer_ns);
    const FleetReplay answer = replay_fleet({run, {}, meetings, {}});
    ASSERT_FALSE(answer.refused) << *answer.refused;
    EXPECT_EQ(answer.replay_error_ratio, 0);
    const FleetWhatIf& first = answer.what_ifs.at(1);
    ASSERT_EQ(first.transform, FleetTransform::kRankAsMedian);
    EXPECT_EQ(first.rank, late);
    const double truth = ms(healthy.recorded_step_ns);
    EXPECT_GT(ms(answer.recorded_step_ns), 1.4 * truth);
    EXPECT_NEAR(ms(first.step_recorded_ns), truth, 0.01 * truth) << seed;
    const double unprofiled = ms(healthy.find(FleetTransform::kUnchanged)->step_unprofiled.mid_ns);
    EXPECT_NEAR(ms(first.step_unprofiled.mid_ns), unprofiled, 0.01 * unprofiled) << seed;
    EXPECT_LT(unprofiled, 0.95 * truth);
    // Only the straggler's mending helps.
    const std::uint32_t others[] = {(late + 1) % made.rank_count};
    const FleetReplay wrong = replay_fleet({run, {}, meetings, {}}, others);
    EXPECT_EQ(wrong.what_ifs.at(1).saving.mid_ns, 0);
  }
}

// Random edits of the numbers and structure of a summary: no answer, or one, never a crash.
TEST(FleetReplay, HostileSummaries) {
  std::mt19937_64 random(7);
  const auto pick = [&](std::uint64_t below) { return random() % below; };
  std::size_t refused = 0, answered = 0;
  for (int round = 0; round < 3'000; ++round) {
    RunSummary run = two_by_two();
    const std::vector<ReplayMeeting> meetings = match_by_name(run);
    for (std::uint64_t edit = 0; edit < 1 + pick(3); ++edit) {
      RankSummary& rank = run.ranks[pick(run.ranks.size())];
      SummaryReplay& replay = rank.replay;
      const auto wild = [&]() -> std::int64_t {
        const std::int64_t values[] = {
            0, -1, 1, INT64_MAX, INT64_MIN, INT64_MAX / 2, static_cast<std::int64_t>(random())};
        return values[pick(7)];
      };
      SummaryReplayPoint& point = replay.points[pick(replay.points.size())];
      SummaryReplayEdge& edge = replay.edges[pick(replay.edges.size())];
      SummaryCollective& collective = rank.collectives[pick(rank.collectives.size())];
      switch (pick(12)) {
        case 0:
          point.kind = static_cast<SummaryReplayPoint::Kind>(pick(7));
          break;
        case 1:
          point.of = static_cast<std::uint32_t>(pick(2) ? pick(8) : random());
          break;
        case 2:
          point.recorded_ns = wild();
          break;
        case 3:
          edge.from = static_cast<std::uint32_t>(pick(2) ? pick(8) : random());
          break;
        case 4:
          edge.to = static_cast<std::uint32_t>(pick(2) ? pick(8) : random());
          break;
        case 5:
          edge.recorded_ns = wild();
          break;
        case 6:
          edge.unprofiled_ns = edge.uncontended_ns = wild();
          break;
        case 7:
          collective.start_ns = wild();
          break;
        case 8:
          collective.end_ns = wild();
          break;
        case 9:
          collective.group = static_cast<std::uint32_t>(random());
          break;
        case 10:
          replay.step_count = static_cast<std::uint32_t>(pick(6));
          break;
        default:
          collective.sequence = static_cast<std::uint32_t>(pick(3));
          break;
      }
    }
    std::vector<DurationNs> offsets(4, 0);
    if (pick(4) == 0) offsets[pick(4)] = static_cast<DurationNs>(random());
    const FleetReplay answer = replay_fleet({run, offsets, meetings, {}});
    ++(answer.refused ? refused : answered);
  }
  EXPECT_GT(refused, 100U);
  EXPECT_GT(answered, 100U);
}

}  // namespace
}  // namespace stepscope

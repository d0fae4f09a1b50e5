// Which summaries are one run, and what of them counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "fleet/gate.h"
#include "fleet/summary_limits.h"

namespace stepscope {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

RankSummary summary(std::optional<std::int64_t> rank, TimeNs start_ns, DurationNs step_ns, bool has_clock = true) {
  RankSummary made;
  made.rank = rank;
  made.world_size = rank ? std::optional<std::int64_t>(2) : std::nullopt;
  made.source = "rank" + std::to_string(rank.value_or(-1)) + " at " + std::to_string(start_ns / kSecond);
  made.has_clock = has_clock;
  for (int i = 0; i < 10; ++i) {
    SummaryStep step;
    step.start_ns = start_ns + i * step_ns;
    step.duration_ns = step_ns;
    made.steps.push_back(step);
  }
  return made;
}

TEST(GateRuns, RecordingsWithoutARankAreRunsOfTheirOwn) {
  const GateSide side = gate_side({{summary({}, 0, 10), summary({}, 0, 20)}, {}});
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_TRUE(side.losses.empty());
}

TEST(GateRuns, RanksOfOneTimeAreOneRunAndTheSlowestGivesItsSteps) {
  const GateSide side = gate_side({{summary(0, 100 * kSecond, 10), summary(1, 100 * kSecond + 5, 12),  //
                                    summary(0, 300 * kSecond, 11), summary(1, 300 * kSecond - 7, 10)},
                                   {}});
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.runs[0].rank_count, 2);
  EXPECT_EQ(side.runs[0].rank, 1);
  EXPECT_EQ(side.runs[0].steps_ns.front(), 12);
  EXPECT_EQ(side.runs[1].rank, 0);
  EXPECT_EQ(side.runs[1].steps_ns.front(), 11);
  EXPECT_TRUE(side.losses.empty());
}

RankSummary window(std::optional<std::int64_t> rank, TimeNs start_ns, std::int64_t first_correlation) {
  RankSummary made = summary(rank, start_ns, 10);
  made.process_id = 7;
  made.first_correlation = first_correlation;
  made.last_correlation = first_correlation + 99;
  return made;
}

TEST(GateRuns, WindowsOfOneProcessAreOneRun) {
  RankSummary large = window({}, 300 * kSecond, 5000);
  large.steps[3].allocated_peak_bytes = 77;
  const GateSide side = gate_side({{large, window({}, 100 * kSecond, 1000), window({}, 200 * kSecond, 3000)}, {}});
  ASSERT_EQ(side.runs.size(), 1U);
  EXPECT_EQ(side.runs[0].source, "rank-1 at 100");
  EXPECT_EQ(side.runs[0].steps_ns.size(), 30U);
  EXPECT_EQ(side.runs[0].window_count, 3);
  EXPECT_EQ(side.runs[0].rank_count, 1);
  EXPECT_EQ(side.runs[0].allocated_peak_bytes, 77);
  EXPECT_EQ(side.warnings, std::vector<std::string>{"rank-1 at 200 and 1 other are later windows of processes that are "
                                                    "there already, and no runs of their own"});
}

TEST(GateRuns, WindowsOfAllRanksAreOneRun) {
  const GateSide side = gate_side({{window(0, 100 * kSecond, 1000), window(1, 100 * kSecond, 1000),
                                    window(0, 300 * kSecond, 3000), window(1, 300 * kSecond, 3000)},
                                   {}});
  ASSERT_EQ(side.runs.size(), 1U);
  EXPECT_EQ(side.runs[0].rank_count, 2);
  EXPECT_EQ(side.runs[0].steps_ns.size(), 20U);
}

TEST(GateRuns, RunsInContainersHaveOneProcessNumberAndAreRunsAllTheSame) {
  // Each begins to count anew.
  EXPECT_EQ(gate_side({{window({}, 100 * kSecond, 1000), window({}, 200 * kSecond, 1010)}, {}}).runs.size(), 2U);
  RankSummary other_host = window({}, 200 * kSecond, 3000), other_process = other_host, unknown = other_host;
  other_host.host_name = "node2";
  other_process.process_id = 8;
  unknown.process_id.reset();
  for (const RankSummary& other : {other_host, other_process, unknown}) {
    EXPECT_EQ(gate_side({{window({}, 100 * kSecond, 1000), other}, {}}).runs.size(), 2U);
  }
}

TEST(GateRuns, ALaterWindowInAContainerIsOfTheRunBeforeIt) {
  const GateSide side = gate_side(
      {{window({}, 100 * kSecond, 1000), window({}, 200 * kSecond, 1000), window({}, 300 * kSecond, 3000)}, {}});
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.runs[0].window_count, 1);
  EXPECT_EQ(side.runs[1].window_count, 2);
}

TEST(GateRuns, WithoutAGpuTheNumbersOfTheStepsTellAProcess) {
  RankSummary first = window({}, 100 * kSecond, 1), second = window({}, 200 * kSecond, 1);
  for (RankSummary* each : {&first, &second}) {
    each->first_correlation.reset();
    each->last_correlation.reset();
    for (int i = 0; i < 10; ++i) each->steps[static_cast<std::size_t>(i)].number = i;
  }
  EXPECT_EQ(gate_side({{first, second}, {}}).runs.size(), 2U) << "the same steps again";
  for (SummaryStep& step : second.steps) step.number += 100;
  EXPECT_EQ(gate_side({{first, second}, {}}).runs.size(), 1U);
  second.has_clock = false;
  EXPECT_EQ(gate_side({{first, second}, {}}).runs.size(), 2U);
}

constexpr TimeNs kHour = 3600 * kSecond;

// Started again in a container after days and recorded later in its life: as a window of one process, but for the time.
TEST(GateRuns, HoursThatNoStepsFillPartTwoRunsAndAreSaid) {
  const RankSummary first = window({}, 100 * kSecond, 1000), second = window({}, 52 * kHour + 101 * kSecond, 3000);
  const GateSide side = gate_side({{second, first}, {}});
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.warnings,
            std::vector<std::string>{"rank-1 at 187301 counts as a run of its own, though it may be a later window of "
                                     "rank-1 at 100's process: 2 days lie between, which no steps account for"});
  // Its own windows are its own.
  const GateSide more = gate_side({{first, second, window({}, 53 * kHour, 5000)}, {}});
  ASSERT_EQ(more.runs.size(), 2U);
  EXPECT_EQ(more.runs[1].window_count, 2);
  EXPECT_EQ(more.warnings.size(), 2U);
  EXPECT_EQ(gate_side({{first, window({}, kHour, 3000)}, {}}).runs.size(), 1U) << "an evaluation may take that long";
  RankSummary earlier = first, later = second;
  earlier.has_clock = later.has_clock = false;
  EXPECT_EQ(gate_side({{earlier, later}, {}}).runs.size(), 1U) << "nobody knows how long it was";
}

// Our own captures say when their process started: nothing has to be guessed.
TEST(GateRuns, TheStartOfTheProcessTellsAWindowFromAProgramStartedAgain) {
  RankSummary first = window({}, 100 * kSecond, 1000), later = window({}, 52 * kHour, 3000);
  first.process_start_ns = later.process_start_ns = 40 * kSecond;
  const GateSide one = gate_side({{first, later}, {}});
  ASSERT_EQ(one.runs.size(), 1U) << "however long it rested";
  EXPECT_EQ(one.runs[0].window_count, 2);
  RankSummary again = window({}, 200 * kSecond, 3000);
  again.process_start_ns = 150 * kSecond;
  const GateSide two = gate_side({{first, again}, {}});
  EXPECT_EQ(two.runs.size(), 2U) << "a minute later, with the same number";
  EXPECT_TRUE(two.warnings.empty()) << "and no doubt: " << two.warnings.front();
  again.process_start_ns = 40 * kSecond + 1'000'000;
  EXPECT_EQ(gate_side({{first, again}, {}}).runs.size(), 2U) << "exec: a program in the place of another";
  later.process_start_ns = 51 * kHour;
  EXPECT_TRUE(gate_side({{first, later}, {}}).warnings.empty());
  again.process_start_ns.reset();
  EXPECT_EQ(gate_side({{first, again}, {}}).runs.size(), 1U) << "where one does not say, the other signs count";
  again.process_start_ns = 40 * kSecond;
  again.process_id = 8;
  EXPECT_EQ(gate_side({{first, again}, {}}).runs.size(), 2U) << "ranks of a run start together";
}

TEST(GateRuns, StepsThatFillTheHoursAreOneRun) {
  const auto at = [](TimeNs start_ns, std::int64_t first_step, std::int64_t correlation) {
    RankSummary made = summary({}, start_ns, kSecond);
    made.process_id = 1;
    made.first_correlation = correlation;
    made.last_correlation = correlation + 99;
    for (SummaryStep& step : made.steps) step.number = first_step++;
    return made;
  };
  const RankSummary first = at(100 * kSecond, 10, 1000);
  // 10,000 steps of a second in 3 h; in 6 h, half of which were something else; 100 in 3 h.
  EXPECT_EQ(gate_side({{first, at(3 * kHour, 10'010, 5000)}, {}}).runs.size(), 1U);
  EXPECT_EQ(gate_side({{first, at(5 * kHour, 10'010, 5000)}, {}}).runs.size(), 1U);
  EXPECT_EQ(gate_side({{first, at(3 * kHour, 110, 5000)}, {}}).runs.size(), 2U);
}

TEST(GateRuns, AnotherGpuOrTorchOrTheSameTimeIsNoWindow) {
  RankSummary first = window({}, 100 * kSecond, 1000), second = window({}, 200 * kSecond, 3000);
  first.device_name = second.device_name = "NVIDIA H200";
  first.torch_version = second.torch_version = "2.7.1";
  ASSERT_EQ(gate_side({{first, second}, {}}).runs.size(), 1U);
  RankSummary gpu = second, torch = second, unknown = second, beside = window({}, 100 * kSecond + 5, 3000);
  gpu.device_name = "NVIDIA H100";
  torch.torch_version = "2.8.0";
  unknown.torch_version.clear();
  for (const RankSummary& other : {gpu, torch, beside}) EXPECT_EQ(gate_side({{first, other}, {}}).runs.size(), 2U);
  EXPECT_EQ(gate_side({{first, unknown}, {}}).runs.size(), 1U);
}

TEST(GateRuns, RanksThatWereStartedAgainAreSaidTogether) {
  const GateSide side = gate_side({{window(0, 100 * kSecond, 1000), window(1, 100 * kSecond, 1000),
                                    window(0, 10 * kHour, 3000), window(1, 10 * kHour, 3000)},
                                   {}});
  EXPECT_EQ(side.runs.size(), 2U);
  ASSERT_EQ(side.warnings.size(), 1U);
  EXPECT_NE(side.warnings[0].find(" and 1 other count as runs of their own, though they may be later windows of "),
            std::string::npos);
  EXPECT_NE(side.warnings[0].find("process: 9 h lie between"), std::string::npos);
}

TEST(GateRuns, CopiesCountOnce) {
  RankSummary copy = summary({}, 5 * kSecond, 10), other = copy;
  copy.source = "copy";
  copy.text_bytes = 2076;  // a capture of it
  other.source = "other";
  other.steps.back().gpu_busy_ns = 3;
  const GateSide side = gate_side({{summary({}, 5 * kSecond, 10), copy, other}, {}});
  EXPECT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.warnings, std::vector<std::string>{"copy: the same as rank-1 at 5, counted once"});
  // Two commands may take equally long.
  for (RankSummary* each : {&copy, &other}) {
    *each = summary({}, 0, 10);
    each->step_source = kCommandStepSource;
  }
  copy.source = "copy";
  EXPECT_EQ(gate_side({{copy, other}, {}}).runs.size(), 2U);
}

TEST(GateRuns, CopiedListsCountOnce) {
  GateSide side;
  for (const char* source : {"a", "b", "c"}) {
    side.runs.emplace_back();
    side.runs.back().source = source;
    side.runs.back().kind = GateTimeKind::kListedSteps;
    side.runs.back().steps_ns = {1, 2, 3};
  }
  side.runs[1].steps_ns.back() = 4;
  drop_copied_runs(side);
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.runs[1].source, "b");
  EXPECT_EQ(side.warnings, std::vector<std::string>{"c: the same as a, counted once"});
}

TEST(GateRuns, StrangersAreNoRanksOfOneRun) {
  RankSummary big = summary(1, 100 * kSecond, 10), gloo = summary(1, 100 * kSecond, 10),
              first = summary(0, 100 * kSecond, 10);
  big.world_size = 1024;
  EXPECT_EQ(gate_side({{first, big}, {}}).runs.size(), 2U);
  first.backend = "nccl";
  EXPECT_EQ(gate_side({{first, gloo}, {}}).runs.size(), 1U);  // not known: no stranger
  gloo.backend = "gloo";
  EXPECT_EQ(gate_side({{first, gloo}, {}}).runs.size(), 2U);
}

TEST(GateRuns, ARankThatIsMissingShiftsNoOther) {
  // Windows a second apart; rank 1 of the first is not there.
  const GateSide side =
      gate_side({{summary(0, 100 * kSecond, 10), summary(0, 101 * kSecond, 11), summary(1, 101 * kSecond, 12),
                  summary(0, 102 * kSecond, 13), summary(1, 102 * kSecond, 12)},
                 {}});
  ASSERT_EQ(side.runs.size(), 3U);
  EXPECT_EQ(side.runs[2].rank_count, 2);
  EXPECT_EQ(side.runs[2].steps_ns.front(), 13);
  ASSERT_EQ(side.losses.size(), 1U);
  EXPECT_EQ(side.losses.front(), "a run has 1 rank where another has 2");
}

TEST(GateRuns, WithoutClocksRanksAreTakenInTurn) {
  const GateSide side = gate_side({{summary(0, 0, 10, false), summary(0, 0, 20, false),  //
                                    summary(1, 0, 11, false), summary(1, 0, 21, false)},
                                   {}});
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.runs[0].rank_count, 2);
  EXPECT_EQ(side.runs[0].steps_ns.front(), 11);
  EXPECT_EQ(side.runs[1].steps_ns.front(), 21);
}

TEST(GateRuns, TheLargestPeakOfAllStepsAndRanksCounts) {
  RankSummary first = summary(0, 100 * kSecond, 10), second = summary(1, 100 * kSecond, 9);
  first.steps[3].allocated_peak_bytes = 500;
  second.steps[7].allocated_peak_bytes = 700;
  second.steps[8].allocated_peak_bytes = 600;
  GateSide side = gate_side({{first, second}, {}});
  ASSERT_EQ(side.runs.size(), 1U);
  EXPECT_EQ(side.runs.front().allocated_peak_bytes, 700);
  EXPECT_FALSE(side.runs.front().reserved_peak_bytes);
  second.steps[7].allocated_peak_bytes = second.steps[8].allocated_peak_bytes = std::nullopt;
  side = gate_side({{first, second}, {}});
  ASSERT_EQ(side.warnings.size(), 1U);
  EXPECT_EQ(side.warnings.front(), "memory was recorded of 1 of 2 ranks");
}

TEST(GateRuns, WhatIsNotWholeIsSaid) {
  RankSummary lossy = summary({}, 0, 10), withheld = summary({}, 0, 11), cut = summary({}, 0, 12);
  lossy.lost_count = 30;
  withheld.headline_withheld = "30 of 32 launches have no kernel";
  cut.steps_not_kept_count = 90;
  const GateSide side = gate_side({{lossy, withheld, cut}, {{"rank5.json", "no such file"}}});
  ASSERT_EQ(side.losses.size(), 3U);
  EXPECT_EQ(side.losses[0], "rank-1 at 0: 30 events were lost");
  EXPECT_EQ(side.losses[1],
            "rank-1 at 0: only the first 10 of 100 steps are in its summary, and the others were not compared");
  EXPECT_EQ(side.losses[2], "rank5.json: no such file");
  EXPECT_EQ(side.steps_withheld, "rank-1 at 0: 30 of 32 launches have no kernel");
  EXPECT_TRUE(side.warnings.empty());
}

TEST(GateRuns, ListedTimesKeepTheirKindAndValuesAsSummaries) {
  GateRun listed, command;
  listed.kind = GateTimeKind::kListedSteps;
  listed.steps_ns = {10.4, 20.6, 30};
  listed.allocated_peak_bytes = 7;
  command.kind = GateTimeKind::kCommandRuns;
  command.steps_ns = {1e9};
  const std::vector<RankSummary> summaries = summarize_listed_runs({listed, command});
  ASSERT_EQ(summaries.size(), 2U);
  for (const RankSummary& made : summaries) {
    for (const SummaryStep& step : made.steps) {
      DurationNs sum = step.gpu_busy_ns;
      for (const DurationNs idle : step.idle_ns) sum += idle;
      EXPECT_EQ(sum, step.duration_ns);
    }
  }
  const GateSide side = gate_side({summaries, {}});
  ASSERT_EQ(side.runs.size(), 2U);
  EXPECT_EQ(side.runs[0].kind, GateTimeKind::kListedSteps);
  EXPECT_EQ(side.runs[0].steps_ns, (std::vector<double>{10, 21, 30}));
  EXPECT_EQ(side.runs[0].allocated_peak_bytes, 7);
  EXPECT_EQ(side.runs[1].kind, GateTimeKind::kCommandRuns);
}

// A pass on the first steps alone let a run through that was half slower from then on.
TEST(GateRuns, StepsBeyondTheSummaryLetNothingPass) {
  RankSummary base = summary({}, 0, 10), later = base;
  later.source = "later";
  later.steps_not_kept_count = 90;
  const GateResult result = judge_gate(gate_side({{base}, {}}), gate_side({{later}, {}}), {});
  EXPECT_EQ(result.verdict, GateVerdict::kCannotTell);
  EXPECT_FALSE(result.only_too_few());
}

TEST(GateRuns, StepsThatStandForAllMayPassAndAreSaid) {
  RankSummary base = summary({}, 0, 10), sample = base;
  sample.source = "sample";
  sample.steps_not_kept_count = 90;
  sample.are_steps_spread = true;
  const GateResult result = judge_gate(gate_side({{base}, {}}), gate_side({{sample}, {}}), {});
  EXPECT_EQ(result.verdict, GateVerdict::kPassed);
  ASSERT_FALSE(result.warnings.empty());
  EXPECT_EQ(result.warnings.front(), "new: sample: 10 of its 100 steps were compared, spread over the run");
  sample.steps_not_kept_count = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(gate_side({{sample}, {}}).losses.empty()) << "whatever a file says";
}

TEST(GateRuns, OfManyListedTimesThoseThatAreKeptAreOfTheWholeRun) {
  GateRun listed;
  listed.kind = GateTimeKind::kListedSteps;
  for (int i = 0; i < 3000; ++i) listed.steps_ns.push_back(i < 1000 ? 1e6 : 1.5e6);
  const std::vector<RankSummary> made = summarize_listed_runs({listed});
  ASSERT_EQ(made.front().steps.size(), kMostSummarySteps);
  EXPECT_EQ(made.front().steps.front().number, 0);
  EXPECT_EQ(made.front().steps.back().number, 2999);
  EXPECT_FALSE(lacks_late_steps(made.front()));
  const GateSide side = gate_side({made, {}});
  EXPECT_TRUE(side.losses.empty());
  EXPECT_EQ(std::count(side.runs[0].steps_ns.begin(), side.runs[0].steps_ns.end(), 1e6), 342);
  ASSERT_EQ(side.warnings.size(), 1U);
  EXPECT_NE(side.warnings[0].find("1024 of its 3000 steps"), std::string::npos) << side.warnings[0];
  RankSummary first_ones = made.front();
  first_ones.are_steps_spread = false;  // before version 6 nothing said so
  EXPECT_FALSE(lacks_late_steps(first_ones));
  for (std::size_t i = 0; i < first_ones.steps.size(); ++i) first_ones.steps[i].number = static_cast<std::int64_t>(i);
  EXPECT_TRUE(lacks_late_steps(first_ones));
}

// torchrun imports PyTorch, too, and `stepscope run` records it.
TEST(GateRuns, ARecordingWithoutStepsIsNoRun) {
  RankSummary launcher;
  launcher.source = "launcher";
  const GateSide side = gate_side({{launcher, summary(0, 0, 10)}, {}});
  ASSERT_EQ(side.runs.size(), 1U);
  EXPECT_TRUE(side.losses.empty());
  ASSERT_EQ(side.warnings.size(), 1U);
  EXPECT_EQ(side.warnings[0], "launcher holds no step, and is no run");
  EXPECT_EQ(gate_side({{launcher}, {}}).runs.size(), 1U);
}

TEST(GateRuns, ARecordingWithoutMarkedStepsSaysSo) {
  RankSummary whole = summary({}, 0, 1);
  whole.step_source = "none";
  const GateSide side = gate_side({{whole}, {}});
  ASSERT_EQ(side.warnings.size(), 1U);
  EXPECT_NE(side.warnings[0].find("the whole recording counts as one"), std::string::npos);
}

TEST(GateRuns, NothingGivesNothing) {
  const GateSide side = gate_side({});
  EXPECT_TRUE(side.runs.empty());
  EXPECT_TRUE(side.losses.empty());
}

}  // namespace
}  // namespace stepscope

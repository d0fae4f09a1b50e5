// Steps that Stepscope itself stopped: which they are, and that no account has them.
#include "analyze/disturbed_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/averages.h"
#include "analyze/facts.h"
#include "analyze/kernel_totals.h"
#include "support/trace_from_text.h"

namespace stepscope {
namespace {

constexpr std::string_view kSnapshot = "Stepscope wrote a memory snapshot";

void add_overhead(Trace& trace, std::string_view name, Interval at) {
  OtherEvents::Row row;
  row.category = trace.strings.intern("overhead");
  row.name = trace.strings.intern(name);
  row.thread_key = trace.strings.intern("main");
  row.start_ns = at.start_ns;
  row.end_ns = at.end_ns;
  row.phase = 'X';
  trace.other_events.push_back(row);
}

// Five steps of 100 us with 40 us of GPU work each; the third is 300 us long, and its GPU is idle from 260 on.
Trace loop() {
  return trace_from_text(R"(
    step      [1       ][2       ][3                           ][4       ][5       ]
    op        [mm]      [mm]      [mm][snapshot             ]  .[mm]      [mm]
    py                                  [write           ]
    call      [L1]      [L2]      [L3]                          [L4]      [L5]
    gpu/7       [K1]      [K2]      [K3]                          [K4]      [K5]
    where
      mm = aten::mm
      L1 = cudaLaunchKernel corr 1
      L2 = cudaLaunchKernel corr 2
      L3 = cudaLaunchKernel corr 3
      L4 = cudaLaunchKernel corr 4
      L5 = cudaLaunchKernel corr 5
      K1 = k corr 1
      K2 = k corr 2
      K3 = k corr 3
      K4 = k corr 4
      K5 = k corr 5
  )");
}
constexpr Interval kPause = {260'000, 480'000};

std::vector<std::int64_t> numbers_of(const Steps& steps) {
  std::vector<std::int64_t> numbers;
  for (const Step& step : steps.steps) numbers.push_back(step.number);
  return numbers;
}

TEST(DisturbedSteps, AStepInWhichWeWroteASnapshotCountsNowhere) {
  Trace trace = loop();
  add_overhead(trace, kSnapshot, kPause);
  const Facts facts = compute_facts(trace, {});
  EXPECT_EQ(numbers_of(facts.steps), (std::vector<std::int64_t>{1, 2, 4, 5}));
  ASSERT_EQ(facts.steps.disturbed.size(), 1U);
  EXPECT_EQ(facts.steps.disturbed[0].step.number, 3);
  EXPECT_EQ(facts.steps.disturbed[0].cause, kSnapshot);
  EXPECT_EQ(facts.steps.disturbed[0].overhead_ns, 220'000);
  EXPECT_TRUE(facts.steps.left_out.empty());
  EXPECT_EQ(facts.steps.median_ns, 100'000);
  EXPECT_EQ(facts.steps.recorded_ns(), 400'000) << "and so the mean";
  ASSERT_EQ(facts.busy.size(), 1U);
  EXPECT_EQ(facts.busy[0].gpu_busy_ns, 160'000);
  EXPECT_EQ(facts.busy[0].idle_ns, 240'000);
  DurationNs blamed_ns = 0;
  for (const DurationNs each : facts.idle[0].blame_ns) blamed_ns += each;
  EXPECT_EQ(blamed_ns, 240'000);
  EXPECT_EQ(facts.idle[0].blame_ns[static_cast<std::size_t>(HostLabel::kProfiler)], 0);
}

// Three steps of 100 us each on the host alone.
Trace host_loop() {
  return trace_from_text(R"(
    step      [1       ][2       ][3       ]
    op            [mm]      [mm]      [mm]
    where
      mm = aten::mm
  )");
}

TEST(DisturbedSteps, AStepAfterOneThatWasRecordedKeepsItsBeginning) {
  Trace trace = host_loop();
  add_overhead(trace, "Stepscope began to record", {201'000, 235'000});
  const Steps steps = compute_facts(trace, {}).steps;
  EXPECT_EQ(numbers_of(steps), (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(steps.disturbed.size(), 1U);
  EXPECT_EQ(steps.disturbed[0].overhead_ns, 34'000);
}

TEST(DisturbedSteps, WhatWeDidIsNoRowOfTheOperatorTable) {
  Trace trace = host_loop();
  add_overhead(trace, kSnapshot, {210'000, 211'000});
  add_overhead(trace, "Buffer Flush", {212'000, 213'000});
  std::vector<std::string> keys;
  for (const AverageRow& row : compute_averages(trace, {}).rows) keys.emplace_back(row.key);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), kSnapshot), 0);
  EXPECT_EQ(std::count(keys.begin(), keys.end(), "Buffer Flush"), 1) << "CUPTI's own are rows, as they are PyTorch's";
}

TEST(DisturbedSteps, ItsOperatorsAndKernelsAreNotAmongThoseOfAStep) {
  Trace trace = loop();
  add_overhead(trace, kSnapshot, kPause);
  const Facts facts = compute_facts(trace, {});
  const auto totals = compute_kernel_totals(trace, facts.timeline, facts.classes, facts.steps, DeviceId(0));
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].count, 4);
  AveragesOptions options;
  options.window = Interval{0, 700'000};
  options.left_out = facts.steps.left_out_host;
  for (const AverageRow& row : compute_averages(trace, options).rows) {
    EXPECT_NE(row.key, "snapshot");
    EXPECT_EQ(row.count, row.key == "aten::mm" ? 4 : row.count) << row.key;
  }
}

TEST(DisturbedSteps, OverTheWholeFileTheIdleTimeIsTheProfilers) {
  Trace trace = loop();
  add_overhead(trace, kSnapshot, kPause);
  FactOptions options;
  options.whole_file_window = true;
  const Facts facts = compute_facts(trace, options);
  EXPECT_EQ(facts.steps.recorded_ns(), facts.steps.window.length_ns());
  EXPECT_EQ(facts.idle[0].blame_ns[static_cast<std::size_t>(HostLabel::kProfiler)], 220'000)
      << "not the operator's and not the Python frame's inside it";
  DurationNs named_ns = 0;
  for (const DetailCost& each : facts.idle[0].details) {
    if (trace.text(each.detail) == kSnapshot) named_ns += each.length_ns;
  }
  EXPECT_EQ(named_ns, 220'000);
}

TEST(DisturbedSteps, WhatTheGpuWorkedThroughDisturbsNothing) {
  Trace trace = loop();
  add_overhead(trace, kSnapshot, {20'000, 60'000});  // under K1
  add_overhead(trace, kSnapshot, {100'000, 104'000});
  const Facts facts = compute_facts(trace, {});
  EXPECT_TRUE(facts.steps.disturbed.empty()) << "4 us of 100 are within what steps vary by";
}

TEST(DisturbedSteps, AnotherProfilersOverheadIsPartOfWhatWasMeasured) {
  Trace trace = loop();
  add_overhead(trace, "Buffer Flush", kPause);
  EXPECT_EQ(numbers_of(compute_facts(trace, {}).steps), (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
}

TEST(DisturbedSteps, WhereEveryStepIsOneAllStay) {
  Trace trace = loop();
  add_overhead(trace, kSnapshot, {0, 700'000});
  const Facts facts = compute_facts(trace, {});
  EXPECT_EQ(facts.steps.steps.size(), 5U);
  EXPECT_TRUE(facts.steps.disturbed.empty());
}

TEST(DisturbedSteps, TheCauseIsWhatTookMost) {
  Trace trace = loop();
  add_overhead(trace, "Stepscope began to record", {240'000, 250'000});
  add_overhead(trace, kSnapshot, {250'000, 280'000});
  add_overhead(trace, "Stepscope began to record", {280'000, 305'000});
  const Facts facts = compute_facts(trace, {});
  ASSERT_EQ(facts.steps.disturbed.size(), 1U);
  EXPECT_EQ(facts.steps.disturbed[0].cause, "Stepscope began to record");
}

}  // namespace
}  // namespace stepscope

// Which steps stand for a recording that has more than fit.
#include "fleet/kept_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fleet/summary_limits.h"

namespace stepscope {
namespace {

std::vector<SummaryStep> make_steps(std::int64_t count, std::int64_t first = 0) {
  std::vector<SummaryStep> steps(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) steps[static_cast<std::size_t>(i)].number = first + i;
  return steps;
}

std::set<std::int64_t> kept_of(const std::vector<SummaryStep>& steps, std::size_t most = kMostSummarySteps) {
  const std::vector<bool> stays = spread_steps(steps, most);
  std::set<std::int64_t> kept;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (stays[i]) kept.insert(steps[i].number);
  }
  return kept;
}

TEST(KeptSteps, AllStayWhereTheyFit) {
  EXPECT_EQ(kept_of(make_steps(1024)).size(), 1024U);
  EXPECT_TRUE(kept_of({}).empty());
}

TEST(KeptSteps, TheyAreOfAllPartsOfTheRun) {
  const auto kept = kept_of(make_steps(50'000));
  EXPECT_EQ(kept.size(), kMostSummarySteps);
  for (std::int64_t part = 0; part < 10; ++part) {
    const auto in_part = std::count_if(kept.begin(), kept.end(), [&](std::int64_t n) { return n / 5'000 == part; });
    EXPECT_GT(in_part, 60) << part;
    EXPECT_LT(in_part, 160) << part;
  }
}

// A checkpoint every tenth step is in a tenth of those that are kept, whatever their distance.
TEST(KeptSteps, WhatComesEveryTenthStepKeepsItsShare) {
  for (const std::int64_t count : {2'048, 5'120, 10'240, 102'400}) {
    const auto kept = kept_of(make_steps(count));
    const auto tenth = std::count_if(kept.begin(), kept.end(), [](std::int64_t n) { return n % 10 == 0; });
    EXPECT_GT(tenth, 70) << count;
    EXPECT_LT(tenth, 135) << count;
  }
}

TEST(KeptSteps, TheFirstFewTheLastAndThePeaksStay) {
  std::vector<SummaryStep> steps = make_steps(9'000, 100);
  steps[4'321].allocated_peak_bytes = 2;
  steps[4'322].allocated_peak_bytes = 1;
  steps[7'654].reserved_peak_bytes = 0;
  const auto kept = kept_of(steps);
  for (std::int64_t number = 100; number < 132; ++number) EXPECT_TRUE(kept.contains(number));
  for (const std::int64_t number : {4'421, 7'754, 9'099}) EXPECT_TRUE(kept.contains(number)) << number;
}

// They know nothing of each other: one was stopped a little later.
TEST(KeptSteps, RanksKeepTheSame) {
  const auto one = kept_of(make_steps(5'000)), other = kept_of(make_steps(5'040));
  std::vector<std::int64_t> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
  EXPECT_GT(both.size(), 1'000U);
}

TEST(KeptSteps, OfASampleASmallerOneIsThatOfTheWhole) {
  const std::vector<SummaryStep> all = make_steps(20'000);
  const auto sample = kept_of(all);
  std::vector<SummaryStep> steps;
  for (const std::int64_t number : sample) steps.push_back(all[static_cast<std::size_t>(number)]);
  const auto twice = kept_of(steps, 512), once = kept_of(all, 512);
  EXPECT_EQ(twice.size(), 512U);
  std::vector<std::int64_t> both;
  std::set_intersection(once.begin(), once.end(), twice.begin(), twice.end(), std::back_inserter(both));
  EXPECT_GT(both.size(), 490U);
}

TEST(KeptSteps, CollectivesAndWorkGoWithTheirSteps) {
  RankSummary summary;
  summary.steps = make_steps(4);
  for (std::uint32_t step = 0; step < 4; ++step) {
    SummaryCollective each;
    each.step = step;
    each.bytes = step;
    summary.collectives.push_back(each);
  }
  summary.work.resize(1);
  summary.work[0].busy_by_step_ns = {10, 11, 12, 13};
  keep_steps(summary, {true, false, false, true});
  EXPECT_EQ(summary.steps_not_kept_count, 2);
  EXPECT_EQ(summary.collectives_not_kept_count, 2);
  ASSERT_EQ(summary.collectives.size(), 2U);
  EXPECT_EQ(summary.collectives[1].step, 1U);
  EXPECT_EQ(summary.collectives[1].bytes, 3);
  EXPECT_EQ(summary.work[0].busy_by_step_ns, (std::vector<DurationNs>{10, 13}));
}

}  // namespace
}  // namespace stepscope

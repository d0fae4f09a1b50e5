// Verdicts on samples whose truth is known, how often they are wrong, and what is said when there is too little.
#include "stats/compare_samples.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/made_samples.h"

namespace stepscope {
namespace {

std::vector<RunTimes> single_values(const std::vector<double>& values) {
  std::vector<RunTimes> runs;
  for (const double value : values) runs.push_back({value});
  return runs;
}

std::vector<RunTimes> make_runs(Random& random, std::size_t runs, std::size_t steps, double median, double between,
                                double within, double likeness = 0) {
  std::vector<RunTimes> made;
  for (std::size_t i = 0; i < runs; ++i) {
    made.push_back(draw_steps(random, steps, median * (1 + between * draw_normal(random)), within, likeness));
  }
  return made;
}

CompareOptions quick(int seed) {
  CompareOptions options;
  options.resample_count = 1000;
  options.seed = static_cast<std::uint64_t>(seed);
  return options;
}

TEST(CompareSamples, NothingAndLittleIsTooFew) {
  const std::vector<RunTimes> none, three = single_values({1, 2, 3}), steps = {{10, 11, 12}};
  EXPECT_EQ(compare_samples(none, none, {}).verdict, CompareVerdict::kTooFew);
  EXPECT_EQ(compare_samples(none, none, {}).reason, "0 runs; 6 are needed to tell anything");
  EXPECT_FALSE(compare_samples(three, none, {}).ratio);
  const Comparison few = compare_samples(three, three, {});
  EXPECT_EQ(few.verdict, CompareVerdict::kTooFew);
  EXPECT_EQ(few.reason, "3 runs; 6 are needed to tell anything");
  EXPECT_EQ(few.ratio, 1.0);
  EXPECT_FALSE(few.interval);
  const Comparison three_steps = compare_samples(steps, steps, {});
  EXPECT_EQ(three_steps.verdict, CompareVerdict::kTooFew);
  EXPECT_EQ(three_steps.reason, "3 steps; 6 are needed to tell anything");
  EXPECT_EQ(compare_pairs({}, {}, {}).reason, "0 pairs; 6 are needed to tell anything");
  EXPECT_EQ(compare_pairs(std::vector<double>{1}, std::vector<double>{2}, {}).reason,
            "1 pair; 6 are needed to tell anything");
}

TEST(CompareSamples, ValuesThatAreNoTimesAreLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const std::vector<double> base = {1, 1, nan, 1, 1, 0, 1, 1}, other = {2, 2, 2, 2, 2, 2, infinite, 2};
  const Comparison pairs = compare_pairs(base, other, {});
  EXPECT_EQ(pairs.base_count, 5);
  EXPECT_EQ(pairs.verdict, CompareVerdict::kTooFew);
  const std::vector<RunTimes> damaged = {{nan, -1}, {}, {1}};
  EXPECT_EQ(compare_samples(damaged, damaged, {}).base_count, 1);
}

TEST(CompareSamples, AClearDifferenceIsTold) {
  Random random(1);
  const auto base = single_values(draw_sample(12, [&] { return draw_lognormal(random, 0.01); }));
  const auto slow = single_values(draw_sample(9, [&] { return 1.2 * draw_lognormal(random, 0.01); }));
  const Comparison slower = compare_samples(base, slow, {});
  EXPECT_EQ(slower.verdict, CompareVerdict::kSlower);
  EXPECT_EQ(slower.unit, CompareUnit::kRuns);
  EXPECT_NEAR(*slower.ratio, 1.2, 0.02);
  EXPECT_LT(slower.interval->low, *slower.ratio);
  EXPECT_GT(slower.interval->high, *slower.ratio);
  EXPECT_EQ(compare_samples(slow, base, {}).verdict, CompareVerdict::kFaster);
}

TEST(CompareSamples, TheToleranceIsNoDifference) {
  Random random(2);
  const auto base = single_values(draw_sample(30, [&] { return draw_lognormal(random, 0.002); }));
  const auto slow = single_values(draw_sample(30, [&] { return 1.02 * draw_lognormal(random, 0.002); }));
  CompareOptions options;
  EXPECT_EQ(compare_samples(base, slow, options).verdict, CompareVerdict::kSlower);
  options.tolerance_ratio = 0.03;
  EXPECT_EQ(compare_samples(base, slow, options).verdict, CompareVerdict::kNoDifference);
  EXPECT_EQ(compare_samples(slow, base, options).verdict, CompareVerdict::kNoDifference);
}

CompareOptions of_few_values(int seed = 1) {
  CompareOptions options = quick(seed);
  options.few_values = true;
  return options;
}

TEST(CompareFewValues, AClearDifferenceIsTold) {
  const std::vector<RunTimes> base = {{100, 100.5, 101}}, other = {{104, 105, 104.5}};
  const Comparison slower = compare_samples(base, other, of_few_values());
  EXPECT_EQ(slower.verdict, CompareVerdict::kSlower);
  EXPECT_TRUE(slower.is_of_few_values);
  EXPECT_EQ(slower.ratio, 104.5 / 100.5);
  EXPECT_EQ(compare_samples(other, base, of_few_values()).verdict, CompareVerdict::kFaster);
  EXPECT_EQ(compare_samples(base, other, quick(1)).verdict, CompareVerdict::kTooFew);
  const std::vector<RunTimes> two = {{100, 101}};
  EXPECT_EQ(compare_samples(two, other, of_few_values()).verdict, CompareVerdict::kTooFew);
}

TEST(CompareFewValues, WhatOverlapsIsNoDifference) {
  // One value of the base among the other's: Student's t alone would tell these apart.
  const std::vector<RunTimes> base = {{100, 100, 100, 103}}, other = {{102.9, 104, 104, 104, 104}};
  const Comparison comparison = compare_samples(base, other, of_few_values());
  EXPECT_EQ(comparison.verdict, CompareVerdict::kNoDifference);
  EXPECT_LE(comparison.interval->low, 1);
}

TEST(CompareFewValues, KnownNoiseBetweenRunsWidens) {
  const std::vector<RunTimes> base = {{100, 100.1, 100.2}}, other = {{103, 103.1, 103.2}};
  CompareOptions options = of_few_values();
  EXPECT_EQ(compare_samples(base, other, options).verdict, CompareVerdict::kSlower);
  options.between_runs_ratio = 0.02;
  EXPECT_EQ(compare_samples(base, other, options).verdict, CompareVerdict::kNoDifference);
}

TEST(CompareFewValues, FalseAlarmsStayRare) {
  Random random(5);
  int normal_alarms = 0, tail_alarms = 0;
  constexpr int kComparisons = 2000;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<RunTimes> normal(2), tailed(2);
    for (int k = 0; k < 6; ++k) {
      normal[static_cast<std::size_t>(k % 2)].push_back(100 + draw_normal(random));
      tailed[static_cast<std::size_t>(k % 2)].push_back(100 + std::exp(2 * draw_normal(random)));
    }
    const auto alarms = [&](const std::vector<RunTimes>& sides) {
      const std::vector<RunTimes> base = {sides[0]}, other = {sides[1]};
      return compare_samples(base, other, of_few_values(i)).verdict != CompareVerdict::kNoDifference ? 1 : 0;
    };
    normal_alarms += alarms(normal);
    tail_alarms += alarms(tailed);
  }
  EXPECT_LT(normal_alarms, kComparisons * 6 / 100);
  EXPECT_LT(tail_alarms, kComparisons * 11 / 100);
}

TEST(ComparePairs, WhatSlowsTheWholeMachineCancels) {
  Random random(3);
  std::vector<double> base, other;
  for (int i = 0; i < 20; ++i) {
    const double machine = 1 + 0.5 * random.unit();  // another program comes and goes
    base.push_back(machine * draw_lognormal(random, 0.01));
    other.push_back(1.05 * machine * draw_lognormal(random, 0.01));
  }
  EXPECT_EQ(compare_pairs(base, other, {}).verdict, CompareVerdict::kSlower);
  EXPECT_EQ(compare_samples(single_values(base), single_values(other), {}).verdict, CompareVerdict::kNoDifference);
}

// The same program on both sides: how often is a difference seen? 5 % are promised; few values may reach a little more.
TEST(CompareFalseAlarms, OfPairs) {
  Random random(4);
  for (const std::size_t count : {6U, 10U, 20U}) {
    int alarms = 0;
    for (int i = 0; i < 1000; ++i) {
      const auto base = draw_sample(count, [&] { return draw_tailed(random); });
      const auto other = draw_sample(count, [&] { return draw_tailed(random); });
      if (compare_pairs(base, other, quick(i)).verdict != CompareVerdict::kNoDifference) ++alarms;
    }
    EXPECT_LE(alarms, 70) << count;
    EXPECT_GE(alarms, 8) << count << ": so careful that it could never tell anything";
  }
}

TEST(CompareFalseAlarms, OfFewRunsOfManySteps) {
  Random random(5);
  for (const auto& [base_count, other_count] : {std::pair{2U, 2U}, {3U, 3U}, {5U, 1U}, {8U, 3U}}) {
    int alarms = 0;
    for (int i = 0; i < 1000; ++i) {
      const auto base = make_runs(random, base_count, 20, 1, 0.02, 0.03);
      const auto other = make_runs(random, other_count, 20, 1, 0.02, 0.03);
      const Comparison comparison = compare_samples(base, other, quick(i));
      EXPECT_TRUE(comparison.sees_noise_between_runs);
      if (comparison.verdict != CompareVerdict::kNoDifference) ++alarms;
    }
    EXPECT_LE(alarms, 70) << base_count << " " << other_count;
    EXPECT_GE(alarms, 30) << base_count << " " << other_count;
  }
}

TEST(CompareFalseAlarms, OfStepsThatResembleTheirNeighbours) {
  Random random(6);
  for (const double likeness : {0.0, 0.5, 0.8}) {
    int alarms = 0, compared = 0;
    for (int i = 0; i < 500; ++i) {
      const auto base = make_runs(random, 1, 200, 1, 0, 0.03, likeness);
      const auto other = make_runs(random, 1, 200, 1, 0, 0.03, likeness);
      const Comparison comparison = compare_samples(base, other, quick(i));
      EXPECT_EQ(comparison.unit, CompareUnit::kSteps);
      EXPECT_FALSE(comparison.sees_noise_between_runs);
      if (comparison.verdict != CompareVerdict::kTooFew) ++compared;
      if (comparison.verdict == CompareVerdict::kSlower || comparison.verdict == CompareVerdict::kFaster) ++alarms;
    }
    EXPECT_GE(compared, 490);
    EXPECT_LE(alarms, 50) << likeness;  // taken as independent, 0.8 would give 50 % of alarms
  }
}

TEST(CompareFalseAlarms, NoiseBetweenRunsMustBeGivenWhenThereIsOneRunASide) {
  Random random(7);
  int blind = 0, told = 0;
  for (int i = 0; i < 400; ++i) {
    const auto base = make_runs(random, 1, 100, 1, 0.02, 0.01);
    const auto other = make_runs(random, 1, 100, 1, 0.02, 0.01);
    CompareOptions options = quick(i);
    if (compare_samples(base, other, options).verdict != CompareVerdict::kNoDifference) ++blind;
    options.between_runs_ratio = 0.02;
    const Comparison comparison = compare_samples(base, other, options);
    EXPECT_TRUE(comparison.sees_noise_between_runs);
    if (comparison.verdict != CompareVerdict::kNoDifference) ++told;
  }
  EXPECT_GE(blind, 200);
  EXPECT_LE(told, 30);
}

// A gate at 3 % on one run of 100 steps a side: what the loops of a quiet GPU look like, and twice that noise.
TEST(CompareGate, QuietLoopsPassAndAPlantedSlowdownIsFound) {
  Random random(8);
  int alarms = 0, found = 0;
  constexpr int kPairs = 1000;
  for (int i = 0; i < kPairs; ++i) {
    CompareOptions options = quick(i);
    options.tolerance_ratio = 0.03;
    const auto base = make_runs(random, 1, 100, 1, 0.004, 0.01, 0.3);
    const auto same = make_runs(random, 1, 100, 1, 0.004, 0.01, 0.3);
    const auto slow = make_runs(random, 1, 100, 1.045, 0.004, 0.01, 0.3);
    if (compare_samples(base, same, options).verdict == CompareVerdict::kSlower) ++alarms;
    if (compare_samples(base, slow, options).verdict == CompareVerdict::kSlower) ++found;
  }
  EXPECT_LE(alarms, kPairs / 100);
  EXPECT_GE(found, kPairs * 95 / 100);
}

TEST(CompareSamples, AStepDriftIsNotTakenForManySteps) {
  RunTimes drifting;
  for (int i = 0; i < 30; ++i) drifting.push_back(1 + 0.01 * i);
  const std::vector<RunTimes> runs = {drifting};
  const Comparison comparison = compare_samples(runs, runs, {});
  EXPECT_EQ(comparison.verdict, CompareVerdict::kTooFew);
  EXPECT_NE(comparison.reason.find("drift"), std::string::npos);
}

TEST(UnitsToTell, FollowTheNoise) {
  Random random(9);
  const auto noisy = [&](double spread) {
    const auto base = draw_sample(40, [&] { return draw_lognormal(random, spread); });
    const auto other = draw_sample(40, [&] { return draw_lognormal(random, spread); });
    return *units_to_tell(compare_pairs(base, other, {}), 0.01);
  };
  const std::int64_t quiet = noisy(0.01), loud = noisy(0.04);
  EXPECT_GT(loud, 6 * quiet);  // 16 times
  EXPECT_LT(loud, 40 * quiet);
  EXPECT_FALSE(units_to_tell(Comparison(), 0.01));
  const std::vector<double> equal(10, 2.0);
  EXPECT_EQ(units_to_tell(compare_pairs(equal, equal, {}), 0.01), 6);
}

// The promise: so many pairs tell the difference in four of five comparisons.
TEST(UnitsToTell, KeepTheirPromise) {
  Random random(10);
  const auto draw = [&](double scale) { return scale * draw_lognormal(random, 0.02); };
  const auto pilot_base = draw_sample(400, [&] { return draw(1); }),
             pilot_other = draw_sample(400, [&] { return draw(1); });
  const auto count = static_cast<std::size_t>(*units_to_tell(compare_pairs(pilot_base, pilot_other, {}), 0.01));
  int told = 0;
  for (int i = 0; i < 500; ++i) {
    const auto base = draw_sample(count, [&] { return draw(1); });
    const auto other = draw_sample(count, [&] { return draw(1.01); });
    if (compare_pairs(base, other, quick(i)).verdict == CompareVerdict::kSlower) ++told;
  }
  EXPECT_GE(told, 350) << count;
  EXPECT_LE(told, 450) << count;
}

}  // namespace
}  // namespace stepscope

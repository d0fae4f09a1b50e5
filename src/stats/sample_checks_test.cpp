// Each check on a sample that has the fault, and how often it speaks where there is none.
#include "stats/sample_checks.h"

#include <gtest/gtest.h>

#include "support/made_samples.h"

namespace stepscope {
namespace {

TEST(FarValues, BeyondTheOuterFences) {
  const std::vector<double> sample = {10, 11, 12, 50, 13, 14, 15, 16, 17, -20};
  const FarValues far_values = find_far_values(sample);
  EXPECT_EQ(far_values.places, (std::vector<std::size_t>{3, 9}));
  EXPECT_LT(far_values.low_fence, 10);
  EXPECT_GT(far_values.high_fence, 17);
  EXPECT_TRUE(find_far_values(std::vector<double>{1, 1, 99}).places.empty()) << "too few for quartiles";
  EXPECT_TRUE(find_far_values({}).places.empty());
}

TEST(FarValues, ASkewedSampleHasFew) {
  Random random(1);
  std::size_t found = 0;
  for (int i = 0; i < 200; ++i)
    found += find_far_values(draw_sample(100, [&] { return draw_tailed(random); })).places.size();
  EXPECT_LE(found, 300U);  // 0.9 % of 20,000, and small samples guess their quartiles
}

TEST(Drift, IsFoundAndItsEndsNamed) {
  Random random(2);
  std::vector<double> sample;
  for (int i = 0; i < 60; ++i) sample.push_back(100 + 0.2 * i + draw_normal(random));
  const SampleChecks checks = check_sample(sample);
  ASSERT_TRUE(checks.drift);
  EXPECT_NEAR(checks.drift->first_median, 102, 1);
  EXPECT_NEAR(checks.drift->last_median, 110, 1);
}

TEST(TwoModes, AreFoundAndNamed) {
  Random random(3);
  const auto sample = draw_sample(80, [&] { return (random.unit() < 0.25 ? 120 : 100) + draw_normal(random); });
  const SampleChecks checks = check_sample(sample);
  ASSERT_TRUE(checks.two_modes);
  EXPECT_NEAR(checks.two_modes->low_median, 100, 1);
  EXPECT_NEAR(checks.two_modes->high_median, 120, 1);
  EXPECT_NEAR(checks.two_modes->low_ratio, 0.75, 0.15);
}

TEST(TwoModes, TicksOfACoarseClockAreNone) {
  Random random(4);
  const auto sample = draw_sample(80, [&] { return random.unit() < 0.5 ? 100.0 : 110.0; });
  EXPECT_FALSE(check_sample(sample).two_modes);
}

TEST(SlowStart, OnlyTheFirstAndOnlyWhenFarOut) {
  std::vector<double> sample = {200, 100, 101, 102, 100, 101, 103, 99};
  ASSERT_TRUE(check_sample(sample).slow_start);
  EXPECT_EQ(check_sample(sample).slow_start->first, 200);
  std::swap(sample[0], sample[3]);
  EXPECT_FALSE(check_sample(sample).slow_start);
  EXPECT_FALSE(check_sample(std::vector<double>{200, 100}).slow_start);
}

TEST(SampleChecks, SpeakSeldomWhereThereIsNothing) {
  Random random(5);
  int drifts = 0, modes = 0, starts = 0;
  for (int i = 0; i < 1000; ++i) {
    const SampleChecks checks = check_sample(draw_sample(30, [&] { return draw_lognormal(random, 0.2); }));
    drifts += checks.drift ? 1 : 0;
    modes += checks.two_modes ? 1 : 0;
    starts += checks.slow_start ? 1 : 0;
  }
  EXPECT_LE(drifts, 22);
  EXPECT_LE(modes, 15);
  EXPECT_LE(starts, 10);
}

TEST(SampleChecks, WhatDoesNotMatterIsNotSaid) {
  std::vector<double> sample;
  for (int i = 0; i < 60; ++i) sample.push_back(100 + 0.001 * i);
  EXPECT_FALSE(check_sample(sample).drift) << "0.05 %";
  EXPECT_TRUE(check_sample(sample, 0.0001).drift);
}

TEST(SampleChecks, NothingCrashesOnLittle) {
  for (std::size_t count = 0; count < 12; ++count) {
    const SampleChecks checks = check_sample(std::vector<double>(count, 1.0));
    EXPECT_FALSE(checks.drift || checks.two_modes || checks.slow_start);
  }
}

}  // namespace
}  // namespace stepscope

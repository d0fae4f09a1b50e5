// The rule that ends a measurement: quiet samples, samples that scatter for good, and too few of either.
#include "timing/noise_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace stepscope {
namespace {

TEST(NoiseRule, KnowsMeanAndDeviation) {
  NoiseRule rule(0.005);
  EXPECT_FALSE(rule.standard_deviation());
  rule.add(10);
  EXPECT_FALSE(rule.noise_ratio());
  for (double sample : {12.0, 14.0, 16.0}) rule.add(sample);
  EXPECT_DOUBLE_EQ(rule.mean(), 13);
  EXPECT_DOUBLE_EQ(*rule.standard_deviation(), std::sqrt(20.0 / 3));
  EXPECT_DOUBLE_EQ(*rule.noise_ratio(), std::sqrt(20.0 / 3) / 13);
}

TEST(NoiseRule, ZeroTimesHaveNoRatio) {
  NoiseRule rule(0.005);
  for (int i = 0; i < 200; ++i) rule.add(0);
  EXPECT_FALSE(rule.noise_ratio());
  EXPECT_FALSE(rule.is_small());
  EXPECT_FALSE(rule.is_stable());
}

TEST(NoiseRule, QuietSamplesAreEnoughAtOnce) {
  NoiseRule rule(0.005);
  rule.add(1000);
  EXPECT_FALSE(rule.is_small());
  rule.add(1001);
  EXPECT_TRUE(rule.is_small());
}

TEST(NoiseRule, ScatterThatDoesNotFallIsStable) {
  NoiseRule rule(0.005);
  std::mt19937 random(1);
  std::normal_distribution<double> scatter(1000, 100);
  int count = 0;
  while (!rule.is_stable() && count < 100'000) {
    rule.add(scatter(random));
    ++count;
  }
  EXPECT_GT(count, 64);
  EXPECT_LT(count, 10'000);
  EXPECT_FALSE(rule.is_small());
  EXPECT_NEAR(*rule.noise_ratio(), 0.1, 0.03);
}

TEST(NoiseRule, NoiseThatStillGrowsIsNotStable) {
  NoiseRule rule(0.005);
  double sample = 1000;
  for (int i = 0; i < 512; ++i) {
    rule.add(sample);
    sample *= 1.01;
    ASSERT_FALSE(rule.is_stable()) << i;
  }
}

}  // namespace
}  // namespace stepscope

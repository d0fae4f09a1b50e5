// Expected values were computed with numpy 2.4 (mean, std, percentile) unless they are plain arithmetic.
#include "stats/spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kFloorNs = 25;

TEST(Spread, AgreesWithNumpy) {
  const std::vector<double> sample = {3, 1, 4, 1, 5, 9, 2, 6};
  EXPECT_DOUBLE_EQ(*mean(sample), 3.875);
  EXPECT_DOUBLE_EQ(*population_std(sample), 2.5708704751503917);
  EXPECT_DOUBLE_EQ(*iqr(sample), 3.5);
}

TEST(Spread, AnEmptySampleHasNone) {
  EXPECT_FALSE(mean({}).has_value());
  EXPECT_FALSE(population_std({}).has_value());
  EXPECT_FALSE(iqr({}).has_value());
  EXPECT_FALSE(sorted_quantile({}, 0.5).has_value());
  EXPECT_FALSE(significant_figures({}, kFloorNs).has_value());
}

TEST(Spread, OneValueHasNoSpread) {
  const std::vector<double> one = {7};
  EXPECT_DOUBLE_EQ(*mean(one), 7);
  EXPECT_DOUBLE_EQ(*population_std(one), 0);
  EXPECT_DOUBLE_EQ(*iqr(one), 0);
}

TEST(Spread, NanosecondsBesideSecondsAreKept) {
  const std::vector<double> sample = {1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4};
  EXPECT_DOUBLE_EQ(*population_std(sample), 1.4142135623730951);
}

TEST(Spread, SortedQuantileIsTheQuantile) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> value(0, 1000);
  std::uniform_real_distribution<double> share(0, 1);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> sample(1 + random() % 40);
    for (double& each : sample) each = value(random);
    const double q = round == 0 ? 0 : round == 1 ? 1 : share(random);
    const double expected = *quantile(sample, q);
    std::sort(sample.begin(), sample.end());
    EXPECT_DOUBLE_EQ(*sorted_quantile(sample, q), expected);
  }
}

TEST(Spread, UnderARatioOfTheMedian) {
  const std::vector<double> sorted = {95, 97.5, 100, 107.5, 150};  // IQR 10
  EXPECT_FALSE(spread_is_under(sorted, 0.1)) << "exactly the ratio is not under it";
  EXPECT_TRUE(spread_is_under(sorted, 0.1001));
  EXPECT_TRUE(spread_is_under(std::vector<double>{3, 3, 3}, 0));
  EXPECT_TRUE(spread_is_under(std::vector<double>{0, 0}, 0.1));
  EXPECT_FALSE(spread_is_under({}, 1));
}

TEST(SignificantFigures, OfTheMiddleHalf) {
  // numpy: the middle half has 5 of 7 values, 1.645 * std / sqrt(5) = 52.56, 10050 / 52.56 = 191. The 30000 is not in
  // it.
  const std::vector<double> sample = {10000, 10100, 10200, 10050, 9950, 30000, 10020};
  EXPECT_EQ(*significant_figures(sample, kFloorNs), 2);
  // 20 of 40 values, interval 710.2, 61262 times in the median: 4.
  std::vector<double> steady;
  for (int index = 0; index < 40; ++index) steady.push_back(43.5e6 + 1000.0 * ((index * 7919) % 13));
  EXPECT_EQ(*significant_figures(steady, kFloorNs), 4);
  // interval 2.37e6, 1.69 times in the median: log10 is under 1, and 1 is the least.
  EXPECT_EQ(*significant_figures(std::vector<double>{1e6, 2e6, 4e6, 8e6, 16e6}, kFloorNs), 1);
}

TEST(SignificantFigures, TheFloorLimitsWhatASteadySampleClaims) {
  const std::vector<double> same(5, 5730);
  EXPECT_EQ(*significant_figures(same, kFloorNs), 2) << "5730 / 25 = 229";
  EXPECT_EQ(*significant_figures(same, 5.73), 3) << "exactly 1000 times";
  EXPECT_EQ(*significant_figures(same, 0), 4) << "no spread and no floor: the most there is";
  EXPECT_EQ(*significant_figures(std::vector<double>{10, 10}, kFloorNs), 1) << "a median under the floor";
}

TEST(SignificantFigures, WithoutAPositiveMedianThereIsOne) {
  EXPECT_EQ(*significant_figures(std::vector<double>{0, 0, 0}, kFloorNs), 1);
  EXPECT_EQ(*significant_figures(std::vector<double>{-5, -3}, kFloorNs), 1);
  EXPECT_EQ(*significant_figures(std::vector<double>{0}, 0), 1);
}

}  // namespace
}  // namespace stepscope

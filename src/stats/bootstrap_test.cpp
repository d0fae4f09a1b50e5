// Do the intervals hold what they promise, on samples whose truth is known?
#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "support/made_samples.h"

namespace stepscope {
namespace {

TEST(Random, IsTheGeneratorOfTheStandard) {
  // [rand.predef]: the 10,000th number of a default mt19937_64 is 9981545732273789042; ours has its seed.
  std::mt19937_64 engine(std::mt19937_64::default_seed);
  engine.discard(9999);
  EXPECT_EQ(engine(), 9981545732273789042ULL);
  Random random(1);
  const std::vector<std::uint32_t> first = {random.below(100), random.below(100), random.below(100), random.below(100)};
  EXPECT_EQ(first, (std::vector<std::uint32_t>{13, 13, 45, 2}));
}

TEST(Random, BelowIsEven) {
  Random random(2);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);  // 4 standard deviations are 370
  EXPECT_EQ(random.below(1), 0U);
  EXPECT_LT(random.below(std::numeric_limits<std::uint32_t>::max()), std::numeric_limits<std::uint32_t>::max());
}

TEST(Bootstrap, TheFewestValuesFollowFromTheConfidence) {
  EXPECT_EQ(least_sample_count(0.95), 6U);
  EXPECT_EQ(least_sample_count(0.99), 8U);
  EXPECT_EQ(least_sample_count(0.5), 2U);
  EXPECT_LT(least_sample_count(1.0), 100U);
  const std::vector<double> five = {1, 2, 3, 4, 5};
  EXPECT_FALSE(bootstrap_median(five, {}).has_value());
  EXPECT_FALSE(bootstrap_median({}, {}).has_value());
  EXPECT_FALSE(bootstrap_median_ratio(five, std::vector<double>(50, 1.0), {}).has_value());
}

TEST(Bootstrap, TheSameInputGivesTheSameAnswer) {
  Random random(3);
  const auto sample = draw_sample(25, [&] { return draw_lognormal(random, 0.1); });
  const auto first = bootstrap_median(sample, {}), again = bootstrap_median(sample, {});
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->low, again->low);
  EXPECT_EQ(first->high, again->high);
}

// Resampling does not know the order of the values, nor their unit.
TEST(Bootstrap, OrderAndUnitDoNotMatter) {
  Random random(4);
  auto sample = draw_sample(24, [&] { return draw_lognormal(random, 0.1); });
  const auto before = bootstrap_median(sample, {});
  auto scaled = sample;
  for (double& value : scaled) value *= 1024;
  const auto larger = bootstrap_median(scaled, {});
  EXPECT_DOUBLE_EQ(larger->low, before->low * 1024);
  EXPECT_DOUBLE_EQ(larger->high, before->high * 1024);
  std::reverse(sample.begin(), sample.end());
  const auto after = bootstrap_median(sample, {});  // other draws, hence near and not equal
  EXPECT_NEAR(after->low, before->low, 0.02);
  EXPECT_NEAR(after->high, before->high, 0.02);
}

TEST(Bootstrap, EqualValuesHaveNoSpread) {
  const std::vector<double> sample(20, 3.5);
  const auto interval = bootstrap_median(sample, {});
  EXPECT_EQ(interval->low, 3.5);
  EXPECT_EQ(interval->high, 3.5);
  const auto ratio = bootstrap_median_ratio(sample, sample, {});
  EXPECT_EQ(ratio->low, 1);
  EXPECT_EQ(ratio->high, 1);
}

TEST(Bootstrap, MoreConfidenceIsAWiderInterval) {
  Random random(5);
  const auto sample = draw_sample(40, [&] { return draw_lognormal(random, 0.1); });
  ConfidenceInterval inner = *bootstrap_median(sample, {.confidence_ratio = 0.5});
  for (const double confidence : {0.8, 0.9, 0.95, 0.99}) {
    const ConfidenceInterval outer = *bootstrap_median(sample, {.confidence_ratio = confidence});
    EXPECT_LE(outer.low, inner.low);
    EXPECT_GE(outer.high, inner.high);
    inner = outer;
  }
}

TEST(Bootstrap, AMillionValuesAreNoTrouble) {
  Random random(6);
  const auto sample = draw_sample(1'000'000, [&] { return draw_lognormal(random, 0.1); });
  const auto interval = bootstrap_median(sample, {});
  ASSERT_TRUE(interval);
  EXPECT_LT(interval->low, 1.0005);
  EXPECT_GT(interval->high, 0.9995);
  EXPECT_LT(interval->high - interval->low, 0.002);
}

// `draw` has the median `truth`. The standard error of a coverage is 0.7 %; bench/interval_coverage.cpp measures more
// sizes with more samples.
template <class Draw>
double coverage(std::size_t count, double truth, Draw&& draw) {
  constexpr int kSamples = 1000;
  int held = 0;
  for (int i = 0; i < kSamples; ++i) {
    const auto sample = draw_sample(count, draw);
    const auto interval = bootstrap_median(sample, {.resample_count = 1000, .seed = static_cast<std::uint64_t>(i)});
    if (interval->low <= truth && truth <= interval->high) ++held;
  }
  return static_cast<double>(held) / kSamples;
}

TEST(BootstrapCoverage, OfAMedian) {
  Random random(7);
  for (const std::size_t count : {20U, 31U}) {
    for (const double held : {coverage(count, 100, [&] { return 100 + 3 * draw_normal(random); }),
                              coverage(count, 1, [&] { return draw_lognormal(random, 0.3); }),
                              coverage(count, kTailedMedian, [&] { return draw_tailed(random); })}) {
      EXPECT_GE(held, 0.93) << count;
      EXPECT_LE(held, 0.975) << count;
    }
  }
}

TEST(BootstrapCoverage, OfAMedianOfFewIsRatherTooWideThanTooNarrow) {
  Random random(8);
  for (const std::size_t count : {6U, 7U, 8U, 11U}) {
    const double held = coverage(count, 1, [&] { return draw_lognormal(random, 0.3); });
    EXPECT_GE(held, 0.94) << count;
    EXPECT_LE(held, 0.995) << count;
  }
}

template <class Draw>
double ratio_coverage(std::size_t base_count, std::size_t other_count, Draw&& draw) {
  constexpr int kSamples = 1000;
  int held = 0;
  for (int i = 0; i < kSamples; ++i) {
    const auto base = draw_sample(base_count, draw);
    auto other = draw_sample(other_count, draw);
    for (double& value : other) value *= 1.25;
    const auto interval =
        bootstrap_median_ratio(base, other, {.resample_count = 1000, .seed = static_cast<std::uint64_t>(i)});
    if (interval->low <= 1.25 && 1.25 <= interval->high) ++held;
  }
  return static_cast<double>(held) / kSamples;
}

TEST(BootstrapCoverage, OfARatioOfMedians) {
  Random random(9);
  for (const auto& [base, other] : {std::pair{10U, 10U}, {30U, 15U}}) {
    for (const double held : {ratio_coverage(base, other, [&] { return 100 + 3 * draw_normal(random); }),
                              ratio_coverage(base, other, [&] { return draw_lognormal(random, 0.3); })}) {
      EXPECT_GE(held, 0.94) << base << " " << other;
      EXPECT_LE(held, 0.985) << base << " " << other;
    }
  }
}

TEST(Bootstrap, BlocksFollowTheLikenessOfNeighbours) {
  Random random(10);
  const auto free_steps = draw_steps(random, 400, 1, 0.02, 0);
  const auto alike = draw_steps(random, 400, 1, 0.02, 0.6);
  EXPECT_LE(choose_block_length(free_steps), 4U);
  EXPECT_GE(choose_block_length(alike), 8U);
  EXPECT_LE(choose_block_length(alike), 25U);
  EXPECT_EQ(choose_block_length(std::vector<double>(9, 2.0)), 1U);
  EXPECT_EQ(choose_block_length({}), 1U);
  std::vector<double> rising(30);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<double>(i);
  EXPECT_GT(choose_block_length(rising), rising.size() / 6) << "a drift is one long wave";
}

TEST(Bootstrap, RanksShareTheirMean) {
  const std::vector<double> sample = {3, 1, 3, 2};
  EXPECT_EQ(rank_values(sample), (std::vector<double>{3.5, 1, 3.5, 2}));
}

}  // namespace
}  // namespace stepscope

// Percentiles agree with numpy.percentile's default; big times lose no nanosecond.
#include "stats/quantiles.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepscope {
namespace {

TEST(Quantiles, LinearInterpolation) {
  const std::vector<double> sample = {4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(*quantile(sample, 0.0), 1);
  EXPECT_DOUBLE_EQ(*quantile(sample, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(*quantile(sample, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(*quantile(sample, 1.0), 4);
  EXPECT_FALSE(quantile({}, 0.5).has_value());
}

TEST(Quantiles, TimesSince1970KeepTheirNanoseconds) {
  const std::vector<std::int64_t> sample = {1'790'857'026'123'456'789, 1'790'857'026'123'456'791};
  EXPECT_EQ(*median_ns(sample), 1'790'857'026'123'456'790);
  EXPECT_EQ(*quantile_ns(sample, 1.0), 1'790'857'026'123'456'791);
}

TEST(Quantiles, NegativeAndFarApart) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(*median_ns(std::vector<std::int64_t>{-3, 80, 80}), 80);
  EXPECT_EQ(*median_ns(std::vector<std::int64_t>{-7, -4}), -5) << "-5.5 above the least by 1.5, which rounds to 2";
  EXPECT_EQ(*quantile_ns(std::vector<std::int64_t>{kLeast, kMost}, 0.0), kLeast);
  EXPECT_EQ(*quantile_ns(std::vector<std::int64_t>{kLeast, kMost}, 1.0), kMost);
  EXPECT_FALSE(median_ns({}).has_value());
}

}  // namespace
}  // namespace stepscope

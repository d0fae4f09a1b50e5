// Against tables, and that quantile and distribution function undo each other.
#include "stats/distributions.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Distributions, NormalQuantilesOfTheTables) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-9);
  EXPECT_NEAR(normal_quantile(0.005), -2.5758293035489004, 1e-9);
}

TEST(Distributions, StudentQuantilesOfTheTables) {
  EXPECT_NEAR(student_quantile(0.975, 1), 12.706204736432095, 1e-6);
  EXPECT_NEAR(student_quantile(0.975, 2), 4.302652729911275, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 3), 3.182446305284263, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 10), 2.2281388519649385, 1e-9);
  EXPECT_NEAR(student_quantile(0.025, 29), -2.045229642132703, 1e-9);
  EXPECT_NEAR(student_quantile(0.995, 100), 2.6258905214380182, 1e-9);
  EXPECT_NEAR(student_quantile(0.975, 5000), 1.9604386466615242, 1e-3);
}

TEST(Distributions, QuantileUndoesTheFunction) {
  for (const std::int64_t freedom : {1, 2, 5, 12, 77, 999}) {
    for (const double probability : {0.001, 0.1, 0.4, 0.6, 0.99}) {
      EXPECT_NEAR(student_cdf(student_quantile(probability, freedom), freedom), probability, 1e-9);
    }
  }
}

}  // namespace
}  // namespace stepscope

// Quantiles after each value against those of the whole sample so far.
#include "stats/running_order.h"

#include <gtest/gtest.h>

#include <random>

#include "stats/quantiles.h"
#include "stats/spread.h"

namespace stepscope {
namespace {

TEST(RunningOrder, IsEmptyAtFirst) { EXPECT_FALSE(RunningOrder().quantile(0.5).has_value()); }

TEST(RunningOrder, QuantilesAreThoseOfAllValuesSoFar) {
  std::mt19937 random(7);
  for (const unsigned kinds : {2U, 50U, 1'000'000U}) {  // many equal values, some, hardly any
    RunningOrder order;
    std::vector<double> all;
    for (int i = 0; i < 9000; ++i) {  // several pieces
      const double value = i % 3 == 0 ? i : static_cast<double>(random() % kinds);
      order.add(value);
      all.push_back(value);
      if (i % 97 != 0 && i > 20) continue;
      for (const double q : {0.0, 0.25, 0.5, 0.75, 0.999, 1.0}) ASSERT_EQ(order.quantile(q), quantile(all, q)) << i;
    }
    EXPECT_EQ(order.size(), all.size());
  }
}

TEST(RunningOrder, RisingAndFallingValuesAreKeptInOrder) {
  RunningOrder rising, falling;
  for (int i = 0; i <= 10'000; ++i) {
    rising.add(i);
    falling.add(10'000 - i);
  }
  for (const double q : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    EXPECT_EQ(rising.quantile(q), q * 10'000);
    EXPECT_EQ(falling.quantile(q), q * 10'000);
  }
}

}  // namespace
}  // namespace stepscope

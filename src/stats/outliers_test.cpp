// Both sides of 1.5 times the median of the others, and runs too short to say.
#include "stats/outliers.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepscope {
namespace {

using Lengths = std::vector<std::int64_t>;

TEST(Outliers, FromOneAndAHalfTimesTheOthers) {
  const Outliers none = find_outliers(Lengths{100, 149, 100, 101});
  EXPECT_TRUE(none.indices.empty());
  EXPECT_EQ(none.longest, 1U);
  EXPECT_EQ(none.typical_ns, 100);
  const Outliers one = find_outliers(Lengths{100, 150, 100, 101});
  EXPECT_EQ(one.indices, std::vector<std::size_t>{1});
}

TEST(Outliers, AllOfThemInTheirOrder) {
  const Outliers found = find_outliers(Lengths{10, 40, 11, 10, 90, 10, 9});
  EXPECT_EQ(found.typical_ns, 10);
  EXPECT_EQ(found.longest, 4U);
  EXPECT_EQ(found.indices, (std::vector<std::size_t>{1, 4}));
}

TEST(Outliers, TheLongestDoesNotHideItself) {
  // The median of all three is 20, of the others 15.
  const Outliers found = find_outliers(Lengths{10, 20, 23});
  EXPECT_EQ(found.typical_ns, 15);
  EXPECT_EQ(found.indices, std::vector<std::size_t>{2});
}

TEST(Outliers, TwoAreTooFew) {
  EXPECT_TRUE(find_outliers(Lengths{10, 1000}).indices.empty());
  EXPECT_TRUE(find_outliers({}).indices.empty());
}

TEST(Outliers, ThoseBeforeTheFirstAreNone) {
  const Outliers found = find_outliers(Lengths{900, 10, 10, 11, 50}, 1);
  EXPECT_EQ(found.longest, 4U);
  EXPECT_EQ(found.typical_ns, 11) << "of 900, 10, 10, 11: it counts among the others";
  EXPECT_EQ(found.indices, std::vector<std::size_t>{4});
  EXPECT_TRUE(find_outliers(Lengths{900, 10, 10, 11}, 1).indices.empty());
  EXPECT_TRUE(find_outliers(Lengths{1, 2, 3}, 3).indices.empty());
}

TEST(Outliers, TheLimitIsNotRoundedDown) {
  EXPECT_TRUE(find_outliers(Lengths{3, 4, 3}).indices.empty());
  EXPECT_EQ(find_outliers(Lengths{3, 5, 3}).indices, std::vector<std::size_t>{1});
}

TEST(Outliers, HugeLengthsHaveALimitBeyondInt64) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(find_outliers(Lengths{kMost, kMost, kMost}).indices.empty());
}

TEST(Outliers, NoTimeAtAllHasNone) { EXPECT_TRUE(find_outliers(Lengths{0, 0, 0, 7}).indices.empty()); }

}  // namespace
}  // namespace stepscope

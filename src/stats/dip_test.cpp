// The dip by its known values, by properties, and how often it is wrong.
#include "stats/dip.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/random.h"

namespace stepscope {
namespace {

template <class Draw>
std::vector<double> sorted_sample(std::size_t count, Draw&& draw) {
  std::vector<double> sample(count);
  for (double& value : sample) value = draw();
  std::sort(sample.begin(), sample.end());
  return sample;
}

TEST(Dip, EvenlySpacedValuesAreAsNearToOneModeAsCanBe) {
  for (const std::size_t count : {1U, 2U, 3U, 10U, 101U}) {
    double next = 0;
    const auto sample = sorted_sample(count, [&] { return next += 1; });
    EXPECT_DOUBLE_EQ(compute_dip(sample), 0.5 / static_cast<double>(count));
  }
  EXPECT_EQ(compute_dip({}), 0);
}

TEST(Dip, TwoPointsAreAsFarAsCanBe) {
  std::vector<double> sample(50, 1.0);
  sample.insert(sample.end(), 50, 2.0);
  EXPECT_DOUBLE_EQ(compute_dip(sample), 0.25);
}

// What the PyPI package diptest 0.12, which holds the authors' own Fortran, says of the same values.
TEST(Dip, AgreesWithTheAuthorsProgram) {
  const std::vector<double> tied = {30, 33, 35, 36, 37, 37, 39, 39, 39, 39, 39, 40, 40, 40, 40, 41, 42, 43, 43, 43, 44,
                                    44, 45, 45, 46, 47, 47, 48, 48, 48, 49, 50, 50, 51, 52, 52, 53, 53, 53, 53, 53, 54,
                                    54, 57, 57, 59, 60, 60, 60, 61, 61, 61, 61, 62, 62, 62, 62, 63, 66, 70, 72, 72};
  EXPECT_NEAR(compute_dip(tied), 0.06048387096774194, 1e-12);
  const std::vector<double> plain = {1.5, 2.25, 2.5, 3, 7, 7.5, 7.75, 9, 12.5, 13};
  EXPECT_NEAR(compute_dip(plain), 0.13333333333333333, 1e-12);
}

TEST(Dip, ShiftStretchAndMirrorDoNotMatter) {
  Random random(3);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto sample =
        sorted_sample(5 + random.below(60), [&] { return random.unit() + (random.unit() < 0.4 ? 1 : 0); });
    auto moved = sample, mirrored = sample;
    for (double& value : moved) value = 1000 + 8 * value;
    for (double& value : mirrored) value = -value;
    std::sort(mirrored.begin(), mirrored.end());
    EXPECT_NEAR(compute_dip(moved), compute_dip(sample), 1e-9);
    EXPECT_NEAR(compute_dip(mirrored), compute_dip(sample), 1e-9);
  }
}

template <class Draw>
double alarm_ratio(std::size_t count, int repeats, Draw&& draw) {
  int alarms = 0;
  for (int i = 0; i < repeats; ++i) {
    if (is_dip_significant(compute_dip(sorted_sample(count, draw)), count)) ++alarms;
  }
  return static_cast<double>(alarms) / repeats;
}

TEST(Dip, OneModeIsLeftAloneHoweverSkewed) {
  Random random(11);
  for (const std::size_t count : {10U, 30U, 100U, 400U}) {
    EXPECT_LE(alarm_ratio(count, 2000, [&] { return random.unit(); }), 0.016) << count;
    EXPECT_LE(alarm_ratio(count, 500, [&] { return -std::log(1 - random.unit()); }), 0.01) << count;
    EXPECT_LE(alarm_ratio(count, 500, [&] { return std::pow(1 - random.unit(), -2.0); }), 0.01) << count;
  }
}

TEST(Dip, TwoModesAreFound) {
  Random random(12);
  // Two groups as wide as they are apart from edge to edge.
  const auto two_groups = [&] { return random.unit() + (random.unit() < 0.5 ? 2 : 0); };
  EXPECT_GE(alarm_ratio(30, 500, two_groups), 0.85);
  EXPECT_GE(alarm_ratio(100, 200, two_groups), 0.99);
}

}  // namespace
}  // namespace stepscope

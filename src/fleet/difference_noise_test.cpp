// How often noise is taken for a change, and that a change is not taken for noise.
#include "fleet/difference_noise.h"

#include <gtest/gtest.h>

#include "support/made_samples.h"

namespace stepscope {
namespace {

constexpr NoiseOptions kOneRunExactly = {0.95, 0, 1};

PartSeries steps_of(Random& random, std::size_t count, double mean, double spread) {
  PartSeries series(1);
  for (std::size_t i = 0; i < count; ++i) series[0].push_back(std::max(0.0, mean + spread * draw_normal(random)));
  return series;
}

TEST(JudgePart, FalseAlarmsAreAsRareAsPromised) {
  Random random(3);
  for (const std::size_t count : {3U, 6U, 40U}) {
    int alarms = 0;
    constexpr int kComparisons = 1500;
    for (int i = 0; i < kComparisons; ++i) {
      alarms += judge_part(steps_of(random, count, 100, 1), steps_of(random, count + 1, 100, 1), kOneRunExactly).is_told
                    ? 1
                    : 0;
    }
    EXPECT_LT(alarms, kComparisons * 65 / 1000) << count;  // 5 % and three standard errors
  }
}

TEST(JudgePart, AChangeIsTold) {
  Random random(4);
  EXPECT_TRUE(judge_part(steps_of(random, 3, 100, 0.3), steps_of(random, 3, 105, 0.3), kOneRunExactly).is_told);
  EXPECT_TRUE(judge_part({{0, 0, 0}}, steps_of(random, 3, 5, 0.3), kOneRunExactly).is_told);
}

TEST(JudgePart, NoiseBetweenRunsIsAddedToOneRunASide) {
  Random random(5);
  const PartSeries before = steps_of(random, 10, 100, 0.1), after = steps_of(random, 10, 103, 0.1);
  EXPECT_TRUE(judge_part(before, after, {0.95, kGpuBetweenRunsRatio, 1}).is_told);
  EXPECT_FALSE(judge_part(before, after, {0.95, kHostBetweenRunsRatio, 1}).is_told);
}

TEST(JudgePart, RunsCountOnce) {
  // Each run is very sure of itself; runs differ.
  const PartSeries before = {{100, 100, 100}, {110, 110, 110}, {105, 105, 105}};
  const PartSeries after = {{108, 108, 108}, {101, 101, 101}, {112, 112, 112}};
  EXPECT_FALSE(judge_part(before, after, kOneRunExactly).is_told);
  EXPECT_EQ(mean_of_runs({{1, 1, 1, 1}, {3}}), 2);
  // One new run against several old ones.
  const PartSeries old = {{100, 101}, {100.5, 100}, {101, 100}, {100, 100}, {100.2, 100.4}};
  EXPECT_TRUE(judge_part(old, {{120, 121}}, kOneRunExactly).is_told);
  EXPECT_FALSE(judge_part(old, {{100.7, 100.7}}, kOneRunExactly).is_told);
}

TEST(JudgePart, TooLittleIsNotJudged) {
  EXPECT_FALSE(judge_part({{1}}, {{2, 2, 2}}, kOneRunExactly).noise);
  EXPECT_FALSE(judge_part({}, {{2, 2, 2}}, kOneRunExactly).noise);
  EXPECT_FALSE(judge_part({{}}, {{}}, kOneRunExactly).is_told);
}

TEST(JudgePart, ManyPartsNeedMoreEach) {
  Random random(6);
  const PartSeries before = steps_of(random, 4, 100, 1), after = steps_of(random, 4, 104, 1);
  const double one = *judge_part(before, after, kOneRunExactly).noise;
  EXPECT_GT(*judge_part(before, after, {0.95, 0, 100}).noise, 2 * one);
}

}  // namespace
}  // namespace stepscope

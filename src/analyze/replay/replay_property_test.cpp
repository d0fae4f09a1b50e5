// Truths of every run, on random ones: the unchanged replay is exact, and taking work away makes nothing later.
#include <gtest/gtest.h>

#include <algorithm>

#include "analyze/replay/random_run.h"
#include "analyze/replay/replay_picture.h"

namespace stepscope {
namespace {

class ReplayProperty : public testing::TestWithParam<unsigned> {};

TEST_P(ReplayProperty, TheUnchangedReplayIsExact) {
  for (unsigned k = 0; k < 20; ++k) {
    const ReplayPicture picture(RandomRun(GetParam() * 20 + k).make());
    if (picture.refused) continue;
    EXPECT_EQ(picture.worst_deviation_ns(), 0);
    const std::vector<double> steps = picture.step_us(Transform::kUnchanged);
    ASSERT_EQ(steps.size(), picture.steps.steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      EXPECT_DOUBLE_EQ(steps[s], static_cast<double>(picture.steps.steps[s].duration_ns()) / 1e3);
    }
  }
}

TEST_P(ReplayProperty, TakingWorkAwayMakesNothingLater) {
  for (unsigned k = 0; k < 20; ++k) {
    const ReplayPicture picture(RandomRun(GetParam() * 20 + k).make());
    if (picture.refused) continue;
    const std::vector<Lanes> unchanged = picture.times(Edits{});
    for (std::size_t t = 0; t < kTransformCount; ++t) {
      const std::vector<Lanes> changed = picture.times(static_cast<Transform>(t));
      for (std::size_t node = 0; node < changed.size(); ++node) {
        for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
          ASSERT_LE(changed[node][lane], unchanged[node][lane]) << transform_name(static_cast<Transform>(t));
        }
      }
    }
  }
}

TEST_P(ReplayProperty, RangesAreInOrder) {
  for (unsigned k = 0; k < 20; ++k) {
    const ReplayPicture picture(RandomRun(GetParam() * 20 + k).make());
    const WhatIfs answers = picture.what_ifs();
    for (const WhatIf& answer : answers.results) {
      EXPECT_LE(answer.step_unprofiled.low_ns, answer.step_unprofiled.mid_ns);
      EXPECT_LE(answer.step_unprofiled.mid_ns, answer.step_unprofiled.high_ns);
      EXPECT_LE(0, answer.saving.low_ns);
      EXPECT_LE(answer.saving.low_ns, answer.saving.mid_ns);
      EXPECT_LE(answer.saving.mid_ns, answer.saving.high_ns);
      EXPECT_LE(answer.saving.high_ns, answers.unprofiled_step()->high_ns - answer.step_unprofiled.low_ns);
      if (!answer.applies) {
        EXPECT_EQ(answer.saving.high_ns, 0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, ReplayProperty, testing::Range(0U, 10U));

}  // namespace
}  // namespace stepscope

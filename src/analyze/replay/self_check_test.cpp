// When what-ifs are refused, and why.
#include "analyze/replay/self_check.h"

#include <gtest/gtest.h>

#include "analyze/replay/replay_picture.h"

namespace stepscope {
namespace {

TEST(SelfCheck, ASoundRunIsAnswered) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                 ][2                ]
    call      [A]                 [B]
    gpu/7        [K1=============]    [K2============]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
  )"));
  const WhatIfs what_ifs = picture.what_ifs();
  EXPECT_FALSE(what_ifs.self_check.refused);
  EXPECT_EQ(what_ifs.self_check.step_count, 2U);
  EXPECT_EQ(what_ifs.results.size(), kTransformCount);
  for (std::size_t t = 0; t < kTransformCount; ++t) {
    EXPECT_EQ(what_ifs.results[t].transform, static_cast<Transform>(t));
    EXPECT_FALSE(transform_name(static_cast<Transform>(t)).empty());
  }
  EXPECT_EQ(what_ifs.find(Transform::kUnchanged)->step_recorded_ns, 200'000);
  EXPECT_FALSE(what_ifs.find(Transform::kLoaderReady)->applies);
  ASSERT_TRUE(what_ifs.unprofiled_step());
}

TEST(SelfCheck, EventsWithoutLaunchesAreRefused) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                              ]
    call      [A]
    gpu/7        [K1=====][K2=======][K3====]
    where
      A = cudaLaunchKernel corr 1
      K1 = a corr 1
      K2 = b
      K3 = c
  )"));
  const WhatIfs what_ifs = picture.what_ifs();
  ASSERT_TRUE(what_ifs.self_check.refused);
  EXPECT_EQ(*what_ifs.self_check.refused, "66.7% of the GPU events have no launch call");
  EXPECT_TRUE(what_ifs.results.empty());
  EXPECT_EQ(what_ifs.find(Transform::kUnchanged), nullptr);
  EXPECT_FALSE(what_ifs.unprofiled_step());
}

// Work queued before recording began has no launch in the file.
TEST(SelfCheck, TheLeadingRunIsExpected) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                              ]
    call      [A]
    gpu/7     [K0==][K0==]  [K1=====]
    where
      A = cudaLaunchKernel corr 1
      K0 = z
      K1 = a corr 1
  )"));
  EXPECT_DOUBLE_EQ(unlinked_ratio(picture.input, picture.graph), 0);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
}

// As many collectives as kernels, each waiting for its kernel behind the one before: what they waited is no gap that
// kernels have.
TEST(SelfCheck, CollectivesThatWaitForTheirDataAreNoMeasureOfGaps) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                                     ][2      ]
    call      [A][b][c][D][e][f][G][h][i]                              [J]
    gpu/7        [K1==========][K2==========][K3==========]             [K4]
    gpu/17                     [N1]          [N2]          [N3]
    where
      A = cudaLaunchKernel corr 1
      b = cudaStreamWaitEvent
      c = cudaLaunchKernel corr 2
      D = cudaLaunchKernel corr 3
      e = cudaStreamWaitEvent
      f = cudaLaunchKernel corr 4
      G = cudaLaunchKernel corr 5
      h = cudaStreamWaitEvent
      i = cudaLaunchKernel corr 6
      J = cudaLaunchKernel corr 7
      K1 = gemm_kernel corr 1
      N1 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 2
      K2 = gemm_kernel corr 3
      N2 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 4
      K3 = gemm_kernel corr 5
      N3 = ncclDevKernel_AllReduce_Sum_f32_RING_LL corr 6
      K4 = gemm_kernel corr 7
  )"));
  EXPECT_EQ(picture.graph.stream_gap_ns, 0);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  EXPECT_FALSE(picture.what_ifs().self_check.refused);
}

// Half of the step is a delay that nothing explains: a replay without it is far off.
TEST(SelfCheck, AReplayThatIsFarOffIsRefused) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                    ]
    call      [A]     [B]     [C]     [D]
    gpu/7        [K1]    [K2]    [K3]                          [K4====]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      D = cudaLaunchKernel corr 4
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
      K4 = d corr 4
  )"));
  const WhatIfs what_ifs = picture.what_ifs();
  ASSERT_TRUE(what_ifs.self_check.refused);
  EXPECT_TRUE(what_ifs.self_check.refused->starts_with("the replayed step differs from the recorded one by"));
}

TEST(SelfCheck, NothingToReplay) {
  const ReplayPicture no_host(trace_from_text(R"(
    gpu/7        [K1=====]
  )"));
  EXPECT_EQ(no_host.what_ifs().self_check.refused, "no host thread was recorded");
  const ReplayPicture no_gpu(trace_from_text(R"(
    step      [1                              ]
    call      [A]
    where
      A = cudaLaunchKernel corr 1
  )"));
  EXPECT_EQ(no_gpu.what_ifs().self_check.refused, "no GPU event belongs to the steps");
}

// A long run is replayed by its first steps.
TEST(SelfCheck, StepsAreLimited) {
  constexpr std::string_view kFour = R"(
    step      [1     ][2     ][3     ][4     ]
    call      [A]     [B]     [C]     [D]
    gpu/7        [K1]    [K2]    [K3]    [K4]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      D = cudaLaunchKernel corr 4
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
      K4 = d corr 4
  )";
  const ReplayPicture picture(trace_from_text(kFour),
                              {.device = {}, .max_steps = 2, .from_first_step = false, .operators_to_remove = {}});
  EXPECT_EQ(picture.what_ifs().self_check.step_count, 2U);
  EXPECT_EQ(picture.graph.units.size(), 2U);
  EXPECT_EQ(picture.step_us(Transform::kUnchanged), (std::vector{80.0, 80.0}));
}

// Two quick steps, then four of twice the length: the first two do not stand for all.
constexpr std::string_view kSlowLater = R"(
    step      [1     ][2     ][3             ][4             ][5             ][6             ]
    call      [A]     [B]     [C]             [D]             [E]             [F]
    gpu/7        [K1]    [K2]    [K3======]      [K4======]      [K5======]      [K6======]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      D = cudaLaunchKernel corr 4
      E = cudaLaunchKernel corr 5
      F = cudaLaunchKernel corr 6
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
      K4 = d corr 4
      K5 = e corr 5
      K6 = f corr 6
  )";

TEST(SelfCheck, StepsThatStandForAllAreReplayed) {
  const ReplayPicture picture(trace_from_text(kSlowLater),
                              {.device = {}, .max_steps = 2, .from_first_step = false, .operators_to_remove = {}});
  const WhatIfs what_ifs = picture.what_ifs();
  ASSERT_FALSE(what_ifs.self_check.refused);
  EXPECT_EQ(what_ifs.self_check.step_count, 2U);
  EXPECT_EQ(what_ifs.self_check.first_step, 2U);
  EXPECT_EQ(what_ifs.self_check.scale, 1);
  EXPECT_EQ(picture.step_us(Transform::kUnchanged), (std::vector{160.0, 160.0}));
  EXPECT_EQ(what_ifs.find(Transform::kUnchanged)->step_recorded_ns, *picture.steps.median_ns);
}

// Ranks are replayed together, so each by the same steps.
TEST(SelfCheck, TheFirstStepsWhereTheyAreAskedFor) {
  const ReplayPicture picture(trace_from_text(kSlowLater),
                              {.device = {}, .max_steps = 2, .from_first_step = true, .operators_to_remove = {}});
  EXPECT_EQ(picture.window.first_step, 0U);
  EXPECT_EQ(picture.window.scale, 1);
  EXPECT_EQ(picture.step_us(Transform::kUnchanged), (std::vector{80.0, 80.0}));
}

// Half of the steps are twice as long and the median lies between: no one step has it, so the answers are scaled.
TEST(SelfCheck, AnswersAreOfTheMedianOfAllSteps) {
  ReplayPicture picture(trace_from_text(kSlowLater),
                        {.device = {}, .max_steps = 1, .from_first_step = false, .operators_to_remove = {}});
  picture.steps.steps.resize(4);
  picture.steps.median_ns = 120'000;
  const WhatIfs what_ifs = picture.what_ifs();
  ASSERT_FALSE(what_ifs.self_check.refused);
  EXPECT_EQ(what_ifs.self_check.step_count, 1U);
  EXPECT_EQ(what_ifs.self_check.scale, 1.5);
  EXPECT_EQ(what_ifs.find(Transform::kUnchanged)->step_recorded_ns, 120'000);
}

// The time between two steps that do not follow at once belongs to neither.
TEST(SelfCheck, StepsWithTimeBetween) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1     ]            [2     ]
    call      [A]                 [B]
    gpu/7        [K1]                [K2]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
  )"));
  const std::vector<double> steps = picture.step_us(Transform::kUnchanged);
  ASSERT_EQ(steps.size(), picture.steps.steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    EXPECT_DOUBLE_EQ(steps[k], static_cast<double>(picture.steps.steps[k].duration_ns()) / 1e3);
  }
}

TEST(SelfCheck, WithoutStepsTheWindowIsOne) {
  const ReplayPicture picture(trace_from_text(R"(
    op        [mm     ]    [mm      ]
    call       [A]          [B]
    gpu/7         [K1]         [K2===]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
  )"));
  ASSERT_FALSE(picture.refused);
  EXPECT_EQ(picture.graph.steps.size(), 1U);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
}

}  // namespace
}  // namespace stepscope

// Blocking conditions, drawn: what returns when the GPU work before it ends sooner or later.
#include "analyze/replay/conditions.h"

#include <gtest/gtest.h>

#include "analyze/replay/replay_picture.h"

namespace stepscope {
namespace {

Edits without_waits(const ReplayPicture& picture) {
  Edits edits;
  for (std::size_t w = 0; w < picture.waits.size(); ++w) edits.unwait(picture.waits.size(), w);
  return edits;
}

std::string picture_of(std::string_view call) {
  return R"(
    step      [1                                    ]
    call      [A][S              ]   [B]
    gpu/7        [K1===========]        [K2====]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
      S = )" +
         std::string(call);
}

TEST(ReplayConditions, AStreamWaitEndsWithItsStream) {
  const ReplayPicture picture(trace_from_text(picture_of("cudaStreamSynchronize")));
  EXPECT_EQ(picture.count_of(EdgeKind::kCondition), 1);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  // Not waited for: 3 us of the call stay, and the host's 30 us between it and B.
  const double step_us = picture.step_us(without_waits(picture)).front();
  EXPECT_LT(step_us, picture.step_us(Transform::kUnchanged).front());
}

TEST(ReplayConditions, ADeviceWaitEndsWithEveryStream) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                    ]
    call      [A][C][S                ]  [B]
    gpu/7        [K1=====]                  [K2====]
    gpu/20          [K3============]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
      S = cudaDeviceSynchronize
  )"));
  EXPECT_EQ(picture.count_of(EdgeKind::kAllDone), 2);
  EXPECT_EQ(picture.count_of(EdgeKind::kCondition), 1);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  // If the longer stream takes no time, the shorter one ends the wait.
  Edits edits;
  const UnitId longer = picture.unit_of("c");
  remove_unit(picture.graph, longer, edits);
  const auto unchanged = picture.times(Edits{}), shorter = picture.times(edits);
  const NodeId last = picture.graph.units[picture.unit_of("b")].start;
  EXPECT_EQ(unchanged[last.value][kRecorded] - shorter[last.value][kRecorded], 100'000);
}

TEST(ReplayConditions, AWaitThatDidNotBlockBlocksWhenTheHostIsFaster) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                    ]
    span      [data              ]
    call      [A]                 [S]    [B]
    gpu/7        [K1===========]            [K2====]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      K1 = a corr 1
      K2 = b corr 2
      S = cudaStreamSynchronize
  )"));
  EXPECT_EQ(picture.count_of(EdgeKind::kCondition), 1);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  // The loader's time is gone, yet S still waits for K1, which ends at 180 us: not before that does B come.
  const auto times = picture.times(Transform::kLoaderReady);
  EXPECT_GE(times[picture.graph.units[picture.unit_of("b")].start.value][kRecorded], 180'000 - 30'000);
}

TEST(ReplayConditions, AFreeWorksAfterItHasWaited) {
  const ReplayPicture picture(trace_from_text(picture_of("cudaFree")));
  EXPECT_EQ(picture.count_of(EdgeKind::kCondition), 1);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
  EXPECT_LT(picture.step_us(Transform::kAllocatorFree).front(), picture.step_us(Transform::kUnchanged).front() - 100);
}

TEST(ReplayConditions, AnEventWaitEndsWithTheWorkBeforeTheRecord) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                      ]
    call      [A][R][B][E       ]  [C]
    gpu/7        [K1======][K2==========][K3===]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      K1 = a corr 1
      K2 = b corr 2
      K3 = c corr 3
      R = cudaEventRecord
      E = cudaEventSynchronize
  )"));
  EXPECT_EQ(picture.count_of(EdgeKind::kCondition), 1);
  EXPECT_EQ(picture.worst_deviation_ns(), 0);
}

}  // namespace
}  // namespace stepscope

// The same kernel alone and beside a collective.
#include "analyze/replay/contention.h"

#include <gtest/gtest.h>

#include "analyze/replay/replay_picture.h"

namespace stepscope {
namespace {

// us that each unit took longer than its twins.
double longer_us(const ReplayPicture& picture, std::string_view event) {
  EXPECT_FALSE(picture.refused);
  const std::vector<DurationNs> longer = find_contention(picture.input, picture.graph);
  const UnitId unit = picture.unit_of(event);
  return unit.has_value() ? static_cast<double>(longer[picture.graph.units[unit].end_begin]) / 1e3 : -1;
}

// The second gemm of the first step takes 130 us beside the all-reduce; the second of the next step 60, the first
// ones 50.
TEST(Contention, TwinsOfTheSamePlaceComeFirst) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                      ][2                                          ]
    call      [A][B][C]                                [D][E]
    gpu/7        [K1=][K2=========]                         [K3=][K4==]
    gpu/20            [N=============]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      D = cudaLaunchKernel corr 4
      E = cudaLaunchKernel corr 5
      K1 = gemm corr 1
      K2 = gemm corr 2
      N = ncclDevKernel_AllReduce_Sum_bf16 corr 3
      K3 = gemm corr 4
      K4 = gemm corr 5
  )"));
  // K1 has the name too, so it is found first: alone, nothing longer.
  EXPECT_EQ(longer_us(picture, "gemm"), 0);
  const std::vector<DurationNs> longer = find_contention(picture.input, picture.graph);
  std::vector<DurationNs> found;
  for (const DurationNs each : longer) {
    if (each > 0) found.push_back(each);
  }
  EXPECT_EQ(found, (std::vector<DurationNs>{130'000 - 60'000}));
}

TEST(Contention, OtherPlacesOfTheSameWorkDoElse) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                      ]
    call      [A][B][C]
    gpu/7        [K1=][K2=========]
    gpu/20            [N=============]
    where
      A = cudaLaunchKernel corr 1
      B = cudaLaunchKernel corr 2
      C = cudaLaunchKernel corr 3
      K1 = gemm corr 1
      K2 = gemm corr 2
      N = ncclDevKernel_AllReduce_Sum_bf16 corr 3
  )"));
  const std::vector<DurationNs> longer = find_contention(picture.input, picture.graph);
  EXPECT_EQ(*std::max_element(longer.begin(), longer.end()), 130'000 - 50'000);
}

// Other shapes are other work; so is another kernel; and what lies beside nothing is not slowed.
TEST(Contention, NoTwinNothing) {
  const ReplayPicture picture(trace_from_text(R"(
    step      [1                                      ]
    op        [a]   [b]
    call      [A][M][B][C]
    gpu/7        [K1=][M1=][K2=========]
    gpu/20                 [N=============]
    where
      a = aten::mm shapes [[8,8],[8,8]] ext 1
      b = aten::mm shapes [[9,9],[9,9]] ext 2
      A = cudaLaunchKernel corr 1 ext 1
      M = cudaLaunchKernel corr 4
      B = cudaLaunchKernel corr 2 ext 2
      C = cudaLaunchKernel corr 3
      K1 = gemm corr 1 ext 1
      M1 = other corr 4
      K2 = gemm corr 2 ext 2
      N = ncclDevKernel_AllReduce_Sum_bf16 corr 3
  )"));
  for (const DurationNs each : find_contention(picture.input, picture.graph)) EXPECT_EQ(each, 0);
}

}  // namespace
}  // namespace stepscope

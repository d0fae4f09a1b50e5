// Narrow kernels priced by what the same recording shows, by the peak, or by the ratios of another recording.
#include "analyze/aligned_matmuls.h"

#include <gtest/gtest.h>

#include "support/trace_from_text.h"

namespace stepscope {
namespace {

// A narrow product of 2 * 4096 * 4095 * 4096 FLOPs in 1.02 ms, after three wide ones of 4096 in 0.22 ms each.
constexpr std::string_view kPicture = R"(
    op        [W ][W ][W ][N ]
    call      [A] [B] [C] [D]
    gpu/7     [K1==================][K2==================][K3==================][K4==================================================================================================]
    where
      W = aten::mm ext 1 shapes [[4096,4096],[4096,4096]] types ["c10::BFloat16","c10::BFloat16"]
      N = aten::mm ext 4 shapes [[4096,4095],[4095,4096]] types ["c10::BFloat16","c10::BFloat16"]
      A = cudaLaunchKernel corr 1 ext 1
      B = cudaLaunchKernel corr 2 ext 1
      C = cudaLaunchKernel corr 3 ext 1
      D = cudaLaunchKernel corr 4 ext 4
      K1 = nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT corr 1
      K2 = nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT corr 2
      K3 = nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT corr 3
      K4 = cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1 corr 4
  )";

struct Drawn {
  explicit Drawn(std::string_view picture, std::string_view device = {}) : trace(trace_from_text(picture)) {
    if (!device.empty()) trace.devices.name[DeviceId(std::size_t{0})] = trace.strings.intern(device);
    timeline = compute_gpu_timeline(trace);
    classes = compute_kernel_classes(trace);
  }
  [[nodiscard]] AlignedMatmuls aligned() const {
    return {trace, timeline, classes, DeviceId(std::size_t{0}), {0, 1'000'000'000}};
  }
  [[nodiscard]] GpuEventId narrow() const {
    return gpu_event_named(trace, "cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_tn_align1");
  }
  Trace trace;
  GpuTimeline timeline;
  KernelClasses classes;
};

// The picture with other words in it.
std::string with(std::string_view from, std::string_view to) {
  std::string picture(kPicture);
  for (std::size_t at = picture.find(from); at != std::string::npos; at = picture.find(from, at + to.size())) {
    picture.replace(at, from.size(), to);
  }
  return picture;
}

TEST(AlignedMatmuls, TheRateOfWideOnesInTheSameRecording) {
  const Drawn drawn(kPicture);
  const AlignedMatmuls aligned = drawn.aligned();
  EXPECT_EQ(aligned.weakest_source(), RateSource::kMeasured);
  EXPECT_NEAR(aligned.rate("bf16").mid, 2 * 4096.0 * 4096 * 4096 / 220e-6, 1e9);
  const auto kept = aligned.kept_share(drawn.narrow());
  ASSERT_TRUE(kept);
  const double mid = 220.0 / 1020 * 4095 / 4096;
  EXPECT_NEAR(kept->mid, mid, 1e-6);
  EXPECT_NEAR(kept->fast, mid / 1.16, 1e-6);
  EXPECT_NEAR(kept->slow, mid / 0.83, 1e-6);
  EXPECT_FALSE(aligned.kept_share(gpu_event_named(drawn.trace, "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT")));
}

TEST(AlignedMatmuls, ElseAShareOfTheDevicesPeak) {
  const Drawn drawn(with("nvjet", "other"), "NVIDIA H200");
  const AlignedMatmuls aligned = drawn.aligned();
  EXPECT_EQ(aligned.weakest_source(), RateSource::kPeak);
  const auto kept = aligned.kept_share(drawn.narrow());
  ASSERT_TRUE(kept);
  const double at_peak_s = 2 * 4096.0 * 4095 * 4096 / 989e12;
  EXPECT_NEAR(kept->mid, at_peak_s / 0.65 / 1.02e-3, 1e-6);
  EXPECT_LT(kept->fast, kept->mid);
  EXPECT_LT(kept->mid, kept->slow);
}

TEST(AlignedMatmuls, ElseTheRatiosOfAnotherRecording) {
  const Drawn unknown_device(with("nvjet", "other"));
  EXPECT_EQ(unknown_device.aligned().weakest_source(), RateSource::kRecording);
  EXPECT_EQ(unknown_device.aligned().kept_share(unknown_device.narrow())->mid, 0.20);
  const Drawn no_sizes(with("shapes [[4096,4095],[4095,4096]]", ""), "NVIDIA H200");
  EXPECT_EQ(no_sizes.aligned().weakest_source(), RateSource::kRecording);
}

// Sixteen rows against a matrix are bound by memory: no alignment makes its 2 GB cross the bus faster than 4.8 TB/s.
TEST(AlignedMatmuls, NeverFasterThanMemory) {
  const Drawn drawn(with("[[4096,4095],[4095,4096]]", "[[16,65535],[65535,16384]]"), "NVIDIA H200");
  const auto kept = drawn.aligned().kept_share(drawn.narrow());
  ASSERT_TRUE(kept);
  const double bytes = 2.0 * (16 * 65535.0 + 65535.0 * 16384 + 16 * 16384.0);
  EXPECT_NEAR(kept->fast, bytes / 4.8e12 / 1.02e-3, 1e-6);
  EXPECT_EQ(kept->fast, kept->slow);
}

// The rates of 32-bit and 8-bit products are others.
TEST(AlignedMatmuls, OnlyProductsOf16Bits) {
  const Drawn drawn(with("c10::BFloat16", "float"));
  EXPECT_EQ(drawn.aligned().weakest_source(), RateSource::kRecording);
}

TEST(AlignedMatmuls, NoNarrowKernelNoSource) {
  const Drawn drawn(with("align1", "align8"));
  EXPECT_FALSE(drawn.aligned().weakest_source());
}

}  // namespace
}  // namespace stepscope

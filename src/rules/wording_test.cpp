// How numbers are written in findings.
#include "rules/wording.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Wording, durations_have_three_figures_and_a_unit) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(999), "999 ns");
  EXPECT_EQ(format_duration(1'410), "1.41 us");
  EXPECT_EQ(format_duration(99'940), "99.9 us");
  EXPECT_EQ(format_duration(99'960), "0.10 ms");
  EXPECT_EQ(format_duration(870'000), "0.87 ms");
  EXPECT_EQ(format_duration(9'996'000), "10.0 ms");
  EXPECT_EQ(format_duration(49'120'000), "49.1 ms");
  EXPECT_EQ(format_duration(127'600'000), "128 ms");
  EXPECT_EQ(format_duration(2'345'000'000), "2.35 s");
  EXPECT_EQ(format_duration(-1'410), "-1.41 us");
}

TEST(Wording, percents_keep_a_decimal_where_thresholds_are) {
  EXPECT_EQ(format_percent(0.0), "0 %");
  EXPECT_EQ(format_percent(0.0044), "0.4 %");
  EXPECT_EQ(format_percent(0.046), "4.6 %");
  EXPECT_EQ(format_percent(0.0997), "10 %");
  EXPECT_EQ(format_percent(0.521), "52 %");
  EXPECT_EQ(format_percent(1), "100 %");
}

TEST(Wording, counts_have_thousands) {
  EXPECT_EQ(format_count(1192), "1,192");
  EXPECT_EQ(format_count(2979441), "2,979,441");
  EXPECT_EQ(format_count(2.5), "2.5");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(times_a_step(1), "once a step");
  EXPECT_EQ(times_a_step(12), "12 times a step");
  EXPECT_EQ(count_of(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(count_of(30, "launch", "launches"), "30 launches");
}

TEST(Wording, bytes_are_decimal) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(154'140'672), "154 MB");
  EXPECT_EQ(format_bytes(55.3e9), "55.3 GB");
}

TEST(Wording, kernel_names_lose_their_templates) {
  EXPECT_EQ(short_kernel_name("void at::native::vectorized_elementwise_kernel<4, at::native::F>(int)"),
            "vectorized_elementwise_kernel");
  EXPECT_EQ(short_kernel_name("sm80_xmma_gemm_f32f32"), "sm80_xmma_gemm_f32f32");
  EXPECT_EQ(short_kernel_name("void at::native::(anonymous namespace)::max_pool<float>(int)"), "max_pool");
  EXPECT_EQ(short_kernel_name("Memcpy HtoD (Pinned -> Device)"), "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(short_kernel_name("void cutlass::Kernel2<cutlass_80_simt_sgemm_nn>(Params)"), "cutlass_80_simt_sgemm_nn");
  EXPECT_EQ(short_kernel_name("<lambda>"), "<lambda>");
}

TEST(Wording, cutting_keeps_characters_whole) {
  EXPECT_EQ(shortened("abcdefgh", 6), "abc...");
  EXPECT_EQ(shortened("ab\xC3\xA9"
                      "defgh",
                      6),
            "ab...");
}

}  // namespace
}  // namespace stepscope

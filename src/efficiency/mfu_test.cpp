// The worked example of the definition, and the numbers that must be refused.
#include "efficiency/mfu.h"

#include <gtest/gtest.h>

#include <limits>

namespace stepscope {
namespace {

TEST(Mfu, SevenBillionParametersOn64Gpus) {
  const auto mfu = compute_mfu({.params = 7e9}, 2e6, 9, 64, 989e12);
  ASSERT_TRUE(mfu.has_value());
  EXPECT_NEAR(*mfu * 100, 14.75, 0.005);
}

TEST(Mfu, AttentionTermOfTheRecordedGpt) {
  // 137,353,728 parameters, 12 layers of 768, context 1024, 16 * 1024 tokens in 43.5 ms on one H200.
  const ModelShape gpt{.params = 137353728, .layers = 12, .d_model = 768, .context = 1024};
  EXPECT_NEAR(flops_per_token(gpt) * 16384 / 1e12, 15.358, 0.001);
  const auto mfu = compute_mfu(gpt, 16384, 0.0435, 1, 989e12);
  ASSERT_TRUE(mfu.has_value());
  EXPECT_NEAR(*mfu * 100, 35.7, 0.05);
}

TEST(Mfu, RefusesWhatCannotBe) {
  const ModelShape model{.params = 7e9};
  EXPECT_FALSE(compute_mfu({}, 2e6, 9, 64, 989e12).has_value());
  EXPECT_FALSE(compute_mfu({.params = 7e9, .layers = -1}, 2e6, 9, 64, 989e12).has_value());
  EXPECT_FALSE(compute_mfu(model, 0, 9, 64, 989e12).has_value());
  EXPECT_FALSE(compute_mfu(model, 2e6, 0, 64, 989e12).has_value());
  EXPECT_FALSE(compute_mfu(model, 2e6, -9, 64, 989e12).has_value());
  EXPECT_FALSE(compute_mfu(model, 2e6, 9, 0, 989e12).has_value());
  EXPECT_FALSE(compute_mfu(model, 2e6, 9, 64, std::numeric_limits<double>::quiet_NaN()).has_value());
  EXPECT_FALSE(compute_mfu(model, 2e6, std::numeric_limits<double>::infinity(), 64, 989e12).has_value());
}

TEST(Mfu, AHundredPercentIsADataError) {
  const auto mfu = compute_mfu({.params = 7e9}, 2e6, 1, 64, 989e12);
  ASSERT_FALSE(mfu.has_value());
  EXPECT_NE(mfu.error().message.find("132.7%"), std::string::npos) << mfu.error().message;
}

}  // namespace
}  // namespace stepscope

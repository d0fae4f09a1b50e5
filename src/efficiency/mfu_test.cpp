// The worked examples of the definition, how the ratio scales, and the numbers that must be refused, by name.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "stepscope/efficiency.h"

namespace stepscope {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Mfu, SevenBillionParametersOn64Gpus) {
  const auto ratio = mfu(7e9, 0, 0, 0, 2e6, 9, 64, 989e12);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(*ratio * 100, 14.75, 0.005);
}

TEST(Mfu, AttentionTermOfTheRecordedGpt) {
  // 137,353,728 parameters, 12 layers of 768, context 1024, 16 * 1024 tokens in 43.5 ms on one H200.
  const auto token = flops_per_token({.params = 137353728, .layers = 12, .d_model = 768, .context = 1024});
  ASSERT_TRUE(token.has_value());
  EXPECT_NEAR(token->total() * 16384 / 1e12, 15.358, 0.001);
  EXPECT_EQ(token->total(), token->parameters + token->attention);
  EXPECT_EQ(token->forward() * 3, token->total());
  const auto ratio = mfu(137353728, 12, 768, 1024, 16384, 0.0435, 1, 989e12);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_NEAR(*ratio * 100, 35.7, 0.05);
}

TEST(Mfu, FullRecomputationAddsAForwardPass) {
  const auto token = flops_per_token({7e9, 32, 4096, 2048});
  ASSERT_TRUE(token.has_value());
  const auto with = hfu(7e9, 32, 4096, 2048, 2e6, 9, 64, 989e12, 2e6 * token->forward());
  const auto without = mfu(7e9, 32, 4096, 2048, 2e6, 9, 64, 989e12);
  ASSERT_TRUE(with.has_value() && without.has_value());
  EXPECT_DOUBLE_EQ(*with / *without, 4.0 / 3);  // 8 N instead of 6 N
}

struct TrainingRun {
  double params, layers, d_model, context, tokens, step_s, gpus, peak;
  [[nodiscard]] Result<double> mfu() const {
    return stepscope::mfu(params, layers, d_model, context, tokens, step_s, gpus, peak);
  }
  [[nodiscard]] Result<double> hfu(double recomputed) const {
    return stepscope::hfu(params, layers, d_model, context, tokens, step_s, gpus, peak, recomputed);
  }
};

// Runs whose MFU lies far below 1, so that doubling something stays possible.
TrainingRun random_run(std::mt19937& random) {
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  TrainingRun run{between(1e6, 1e12), between(1, 200),    between(64, 20000), between(128, 1e6), between(1e3, 1e8), 0,
                  between(1, 1e5),    between(1e12, 1e16)};
  const double flops = run.tokens * (6 * run.params + 12 * run.layers * run.d_model * run.context);
  run.step_s = flops / run.gpus / run.peak / between(0.001, 0.2);
  return run;
}

TEST(MfuProperty, ScalesAsItMust) {
  std::mt19937 random(20240611);
  for (int i = 0; i < 5000; ++i) {
    const TrainingRun run = random_run(random);
    const auto ratio = run.mfu();
    ASSERT_TRUE(ratio.has_value()) << ratio.error().message;
    ASSERT_GT(*ratio, 0);
    ASSERT_LT(*ratio, 1);
    const auto changed = [&](double TrainingRun::*field, double factor) {
      TrainingRun other = run;
      other.*field *= factor;
      return *other.mfu();
    };
    constexpr double kNear = 1e-12;
    for (double TrainingRun::*halving : {&TrainingRun::step_s, &TrainingRun::gpus, &TrainingRun::peak}) {
      EXPECT_NEAR(changed(halving, 2) / *ratio, 0.5, kNear);
    }
    EXPECT_NEAR(changed(&TrainingRun::tokens, 2) / *ratio, 2, kNear);
    // More of the model is more work, and the two terms add up.
    for (double TrainingRun::*growing :
         {&TrainingRun::params, &TrainingRun::layers, &TrainingRun::d_model, &TrainingRun::context}) {
      EXPECT_GT(changed(growing, 2), *ratio);
      EXPECT_LE(changed(growing, 2), 2 * *ratio * (1 + kNear));
    }
    TrainingRun no_attention = run;
    no_attention.layers = no_attention.d_model = no_attention.context = 0;
    const auto token = flops_per_token({run.params, run.layers, run.d_model, run.context});
    EXPECT_NEAR(*no_attention.mfu() / *ratio, token->parameters / token->total(), kNear);
    // HFU grows with what is done again, from MFU on.
    EXPECT_EQ(*run.hfu(0), *ratio);
    EXPECT_GT(*run.hfu(run.tokens * token->forward()), *ratio);
    const auto again = flops_utilization(run.tokens * token->total(), run.step_s, run.gpus, run.peak);
    EXPECT_EQ(*again, *ratio);
  }
}

TEST(Mfu, EveryBadArgumentIsRefusedByName) {
  constexpr TrainingRun kGood{7e9, 32, 4096, 2048, 2e6, 9, 64, 989e12};
  ASSERT_TRUE(kGood.mfu().has_value());
  struct Argument {
    const char* name;
    double TrainingRun::*field;
  };
  for (const Argument& argument :
       {Argument{"params", &TrainingRun::params}, Argument{"layers", &TrainingRun::layers},
        Argument{"d_model", &TrainingRun::d_model}, Argument{"context", &TrainingRun::context},
        Argument{"tokens_per_step", &TrainingRun::tokens}, Argument{"step_s", &TrainingRun::step_s},
        Argument{"gpus", &TrainingRun::gpus}, Argument{"peak_flops", &TrainingRun::peak}}) {
    for (const double bad : {0.0, -1.0, -0.5, kNan, kInfinity, -kInfinity}) {
      TrainingRun run = kGood;
      run.*argument.field = bad;
      const auto ratio = run.mfu();
      ASSERT_FALSE(ratio.has_value()) << argument.name << ' ' << bad;
      EXPECT_EQ(ratio.error().code, ErrorCode::kInvalidArgument);
      EXPECT_TRUE(ratio.error().message.starts_with(argument.name)) << ratio.error().message;
    }
  }
  for (const double bad : {-1.0, kNan, kInfinity}) {
    const auto ratio = kGood.hfu(bad);
    ASSERT_FALSE(ratio.has_value());
    EXPECT_TRUE(ratio.error().message.starts_with("recomputed_flops")) << ratio.error().message;
    const auto utilization = flops_utilization(bad, 1, 1, 1e12);
    ASSERT_FALSE(utilization.has_value());
    EXPECT_TRUE(utilization.error().message.starts_with("flops_per_step")) << utilization.error().message;
  }
}

TEST(Mfu, AHundredPercentIsADataError) {
  const auto ratio = mfu(7e9, 0, 0, 0, 2e6, 1, 64, 989e12);
  ASSERT_FALSE(ratio.has_value());
  EXPECT_NE(ratio.error().message.find("MFU comes out as 132.7%"), std::string::npos) << ratio.error().message;
  EXPECT_FALSE(mfu(1e300, 0, 0, 0, 1e300, 1, 1, 1e12).has_value());  // infinite
  const auto over = hfu(7e9, 0, 0, 0, 2e6, 9, 64, 989e12, 1e18);
  ASSERT_FALSE(over.has_value());
  EXPECT_TRUE(over.error().message.starts_with("HFU")) << over.error().message;
}

}  // namespace
}  // namespace stepscope

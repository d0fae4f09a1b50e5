#include "agent/optimizer_steps.h"

#include <gtest/gtest.h>

#include <string>

namespace stepscope::agent {
namespace {

// Letters are calls in order: z is zero_grad, a digit a step() from that place, s one of another class. A bar stands
// behind each that ends a step.
std::string steps_of(std::string_view calls) {
  OptimizerSteps steps;
  std::string text;
  for (const char call : calls) {
    const bool is_digit = call >= '0' && call <= '9';
    const bool ends = steps.note(call == 'z'   ? "Optimizer.zero_grad#Adam.zero_grad"
                                 : call == 's' ? "Optimizer.step#SGD.step"
                                               : "Optimizer.step#Adam.step",
                                 is_digit ? static_cast<std::uint32_t>(call - '0') : 0);
    text += call;
    if (ends) text += '|';
  }
  return text;
}

TEST(OptimizerSteps, OneOptimizerEndsAStepEachTime) {
  EXPECT_EQ(steps_of("1111"), "1|1|1|1|");
  EXPECT_EQ(steps_of("z1z1z1"), "z1|z1|z1|");
  EXPECT_EQ(steps_of("1z1z1z"), "1|z1|z1|z");
}

TEST(OptimizerSteps, TwoThatAlternateAreOneStepAPair) {
  // As the losses of a GAN: discriminator, generator. The first pass is known when it comes round.
  EXPECT_EQ(steps_of("z1z2z1z2z1z2"), "z1|z2z1z2|z1z2|");
  EXPECT_EQ(steps_of("1s1s1s"), "1|s1s|1s|");
  EXPECT_EQ(steps_of("zz12zz12zz12"), "zz1|2zz12|zz12|");
  EXPECT_EQ(steps_of("123123123"), "1|23123|123|");
}

TEST(OptimizerSteps, OneThatStepsMoreOftenEndsStepsAlone) {
  EXPECT_EQ(steps_of("z1z1z1z2z1z1z1z2"), "z1|z1|z1|z2z1|z1|z1|z2");
  // The second only every other time: found once, then given up.
  EXPECT_EQ(steps_of("z1z2z1z1z2z1z1z2z1"), "z1|z2z1z1|z2z1|z1|z2z1|");
  // The other one more often: it takes over.
  EXPECT_EQ(steps_of("122122122122"), "1|22|122|12|2|122|");
}

TEST(OptimizerSteps, ALineThatNeverComesAgainIsForgotten) { EXPECT_EQ(steps_of("11112222"), "1|1|1|1|22|2|2|"); }

TEST(OptimizerSteps, ThoseOfOnePlaceThatStandTogetherAreOneStep) {
  EXPECT_EQ(steps_of("zz11zz11zz11"), "zz1|1|zz11|zz11|");
  EXPECT_EQ(steps_of("z111z111"), "z1|1|1|z111|");
  // From one place, in turn: nothing tells them apart.
  EXPECT_EQ(steps_of("z1z1"), "z1|z1|");
}

TEST(OptimizerSteps, WithoutPlacesTheClassesDecide) {
  EXPECT_EQ(steps_of("asasas"), "a|sas|as|");
  EXPECT_EQ(steps_of("zaazaa"), "za|a|zaa|");
}

}  // namespace
}  // namespace stepscope::agent

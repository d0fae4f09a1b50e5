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

// As above, where hooks tell the objects: a letter is an object that steps from the one line of a loop over optimizers,
// a letter and a digit one that steps from a line of its own. Objects are numbered as they come.
std::string steps_of_objects(std::string_view calls, std::string_view gone = "") {
  OptimizerSteps steps;
  std::string text, known;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const char object = calls[i];
    text += object;
    std::uint32_t line = 100;
    if (i + 1 < calls.size() && calls[i + 1] >= '0' && calls[i + 1] <= '9') {
      line = static_cast<std::uint32_t>(calls[++i]);
      text += calls[i];
    }
    if (known.find(object) == std::string::npos) {
      // Who is gone is so before the next one comes.
      for (const char each : gone) {
        if (const std::size_t at = known.find(each); at != std::string::npos) steps.forget(at + 1);
      }
      known += object;
    }
    if (steps.note("Optimizer.step#Adam.step", line, known.find(object) + 1)) text += '|';
  }
  return text;
}

TEST(OptimizerSteps, ObjectsOfOneLineThatAlternateAreOneStepAPass) {
  EXPECT_EQ(steps_of_objects("abababab"), "a|bab|ab|ab|");
  EXPECT_EQ(steps_of_objects("abcabcabc"), "a|bcabc|abc|");
  EXPECT_EQ(steps_of_objects("a1b2a1b2a1b2"), "a1|b2a1b2|a1b2|");
}

TEST(OptimizerSteps, OneObjectThatStepsAgainEndsAStepEachTime) {
  EXPECT_EQ(steps_of_objects("aaaa"), "a|a|a|a|");
  // No zero_grad is heard between the calls, and none is needed.
  EXPECT_EQ(steps_of_objects("a1a1a1b2a1a1a1b2a1a1a1b2"), "a1|a1|a1|b2a1|a1|a1|b2a1|a1|a1|b2");
  EXPECT_EQ(steps_of_objects("aaabaaabaaab"), "a|a|a|b|aa|a|ba|a|a|b") << "b is taken for a's successor, once";
}

TEST(OptimizerSteps, AnObjectOfTwoLinesIsOneStepAPass) {
  EXPECT_EQ(steps_of_objects("a1a2a1a2a1a2"), "a1|a2a1a2|a1a2|");
}

TEST(OptimizerSteps, AnObjectThatIsMadeAnewGoesOnWhereTheOtherWas) {
  EXPECT_EQ(steps_of_objects("aaabbbccc"), "a|a|a|b|b|b|c|c|c|") << "the old ones may live on, in a scheduler";
  EXPECT_EQ(steps_of_objects("a1b2a1b2c1d2c1d2"), "a1|b2a1b2|c1d2|c1d2|");
  EXPECT_EQ(steps_of_objects("ababcdcd"), "a|bab|cd|cd|");
  // An inner loop of its own optimizer each time, and one around it.
  EXPECT_EQ(steps_of_objects("a1a1a1o2b1b1b1o2c1c1c1o2"), "a1|a1|a1|o2b1|b1|b1|o2c1|c1|c1|o2");
  EXPECT_EQ(steps_of_objects("abc", "ab"), "a|b|c|") << "one step each, and gone then";
  EXPECT_EQ(steps_of_objects("abc"), "a|bc") << "three that live may be three of one pass";
  EXPECT_EQ(steps_of_objects("a1a1bcd", "bc"), "a1|a1|bc|d|") << "another's line: learnt from its second";
}

TEST(OptimizerSteps, AnObjectThatGoesOnAtAnotherLineLosesNoStep) {
  EXPECT_EQ(steps_of_objects("a1a1a1a2a2a2"), "a1|a1|a1|a2|a2|a2|");
  EXPECT_EQ(steps_of_objects("a1b2a1b2a3b4a3b4"), "a1|b2a1b2|a3b4|a3b4|");
  EXPECT_EQ(steps_of_objects("a1a1a1a2a1a2a1a2"), "a1|a1|a1|a2|a1a2|a1a2|") << "two lines of one pass, found late";
}

TEST(OptimizerSteps, AnyNumberOfOptimizersThatNeverComeAgain) {
  OptimizerSteps steps;
  int count = 0;
  for (std::uint64_t object = 1; object <= 100'000; ++object) {
    count += steps.note("Optimizer.step#SGD.step", static_cast<std::uint32_t>(object), object);
  }
  EXPECT_LT(count, 100) << "not one is known to be a step";
}

TEST(OptimizerSteps, AThousandOptimizersOfOnePass) {
  OptimizerSteps steps;
  int count = 0;
  for (int pass = 0; pass < 5; ++pass) {
    for (std::uint64_t object = 1; object <= 1000; ++object) count += steps.note("Optimizer.step#SGD.step", 1, object);
  }
  EXPECT_EQ(count, 5);
}

}  // namespace
}  // namespace stepscope::agent

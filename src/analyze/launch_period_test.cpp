// Periods of drawn sequences: each letter is a symbol.
#include "analyze/launch_period.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace stepscope {
namespace {

std::vector<std::uint32_t> symbols_of(const std::string& letters) {
  std::vector<std::uint32_t> symbols;
  for (const char c : letters) symbols.push_back(static_cast<std::uint32_t>(c - 'a'));
  return symbols;
}

std::string repeat(const std::string& cycle, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += cycle;
  return all;
}

TEST(LaunchPeriod, TheSmallestPeriodThatFits) {
  const auto period = find_period(symbols_of(repeat("abbcbd", 5)), 26);
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->length, 6U);
  EXPECT_EQ(period->match_ratio, 1.0);
}

TEST(LaunchPeriod, TwoCyclesAreNotEnough) { EXPECT_FALSE(find_period(symbols_of(repeat("abbcbd", 2)), 26)); }

TEST(LaunchPeriod, TheSymbolsOfACycleAreDistinct) {
  const auto symbols = symbols_of(repeat("cab", 20));
  const auto period = find_period(symbols, 26);
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(symbols_of_cycle(symbols, *period), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(LaunchPeriod, NoPeriodInNoise) {
  std::mt19937 random(7);
  std::vector<std::uint32_t> noise(10'000);
  for (auto& each : noise) each = random() % 26;
  EXPECT_FALSE(find_period(noise, 26));
  EXPECT_FALSE(find_period({}, 0));
}

TEST(LaunchPeriod, LayersWithinAStepAreNotTheStep) {
  std::string step = repeat("abcd", 12);
  step.append("y").append(repeat("efgh", 12)).append("z");
  const auto period = find_period(symbols_of(repeat(step, 4)), 26);
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->length, step.size());
}

TEST(LaunchPeriod, CyclesStayAlignedBehindAnInsertion) {
  const std::string step = "abcdefghijklmnopqrstuvwabcabdabe";
  std::string letters = repeat(step, 3);
  letters.append(step, 0, 20).append("z").append(step, 20).append(repeat(step, 12));
  const auto symbols = symbols_of(letters);
  const auto period = find_period(symbols, 26);
  ASSERT_TRUE(period.has_value()) << "an insertion costs the match one cycle of sixteen";
  EXPECT_EQ(period->length, 32U);
  const auto begins = align_cycles(symbols, *period);
  ASSERT_EQ(begins.size(), 16U);
  EXPECT_EQ(begins[3], 96U);
  EXPECT_EQ(begins[4], 129U);
  EXPECT_EQ(begins[15], 129U + 11 * 32);
}

TEST(LaunchPeriod, AMillionSymbolsOfOneKindTakeBoundedTime) {
  std::vector<std::uint32_t> same(3'000'000, 0);
  const auto period = find_period(same, 1);
  ASSERT_TRUE(period.has_value());
  EXPECT_EQ(period->length, 1U);
}

}  // namespace
}  // namespace stepscope

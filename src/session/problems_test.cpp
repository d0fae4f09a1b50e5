#include "session/problems.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace stepscope {
namespace {

TEST(Problems, TellsOfEachErrorAndKeepsTheFirstHundred) {
  int heard = 0;
  Problems problems([&](const Error&) { ++heard; }, {});
  EXPECT_TRUE(problems.status().has_value());
  for (int i = 0; i < 150; ++i) problems.add({ErrorCode::kIo, "error " + std::to_string(i), "file", {}});
  EXPECT_EQ(heard, 150);
  EXPECT_EQ(problems.errors().size(), 100U);
  ASSERT_FALSE(problems.status());
  EXPECT_EQ(problems.status().error().message, "error 0");
}

TEST(Problems, WarnsOnceOfEachThing) {
  std::vector<std::string> heard;
  Problems problems({}, [&](const std::string& sentence) { heard.push_back(sentence); });
  problems.warn("a");
  problems.warn("b");
  problems.warn("a");
  EXPECT_EQ(heard, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(problems.warnings(), heard);
}

TEST(Problems, OutlivesCallbacksThatThrowOrAsk) {
  Problems* inner = nullptr;
  std::size_t seen = 0;
  Problems problems(
      [&](const Error&) {
        seen = inner->errors().size();
        throw std::runtime_error("out of here");
      },
      {});
  inner = &problems;
  problems.add({ErrorCode::kIo, "wrong", {}, {}});
  EXPECT_EQ(seen, 1U);
}

}  // namespace
}  // namespace stepscope

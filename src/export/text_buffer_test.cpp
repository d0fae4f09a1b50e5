// Numbers at the ends of their range, pieces of bounded size, and sinks that fail.
#include "export/text_buffer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace stepscope {
namespace {

template <class Put>
std::string text_of(Put put) {
  std::string text;
  const TextSink sink = [&](std::string_view piece) -> Status {
    text += piece;
    return Done{};
  };
  TextBuffer out(sink);
  put(out);
  EXPECT_TRUE(out.finish().has_value());
  return text;
}

std::string microseconds(TimeNs ns) {
  return text_of([&](TextBuffer& out) { out.put_microseconds(ns); });
}

std::string integer(std::int64_t number) {
  return text_of([&](TextBuffer& out) { out.put_integer(number); });
}

TEST(TextBuffer, TimesHaveThreeDecimals) {
  EXPECT_EQ(microseconds(0), "0.000");
  EXPECT_EQ(microseconds(1), "0.001");
  EXPECT_EQ(microseconds(1'000), "1.000");
  EXPECT_EQ(microseconds(1'020), "1.020");
  EXPECT_EQ(microseconds(5118147876589'860), "5118147876589.860");
  EXPECT_EQ(microseconds(1790857026123456'789), "1790857026123456.789") << "a double would say .750";
  EXPECT_EQ(microseconds(-1), "-0.001");
  EXPECT_EQ(microseconds(-12'345), "-12.345");
  EXPECT_EQ(microseconds(std::numeric_limits<TimeNs>::max()), "9223372036854775.807");
  EXPECT_EQ(microseconds(std::numeric_limits<TimeNs>::min()), "-9223372036854775.808");
}

TEST(TextBuffer, Integers) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{9}, std::int64_t{10}, std::int64_t{99}, std::int64_t{100}, std::int64_t{-1},
        std::int64_t{1234567}, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(integer(number), std::to_string(number));
  }
}

TEST(TextBuffer, PiecesAreBoundedAndInOrder) {
  std::string whole;
  std::vector<std::size_t> sizes;
  const TextSink sink = [&](std::string_view piece) -> Status {
    whole += piece;
    sizes.push_back(piece.size());
    return Done{};
  };
  TextBuffer out(sink);
  std::string expected;
  for (int i = 0; i < 400'000; ++i) {
    out.put("event ");
    out.put_integer(i);
    expected += "event " + std::to_string(i);
  }
  const std::string huge(3 << 20, 'x');
  out.put(huge);
  out.put('.');
  ASSERT_TRUE(out.finish().has_value());
  EXPECT_EQ(whole, expected + huge + ".");
  for (const std::size_t size : sizes) EXPECT_TRUE(size <= (1U << 20) || size == huge.size());
  EXPECT_LT(sizes.size(), 10U);
}

TEST(TextBuffer, AFailedSinkIsAskedNoMore) {
  int asked = 0;
  const TextSink sink = [&](std::string_view) -> Status {
    ++asked;
    return Error{ErrorCode::kIo, "no room", ""};
  };
  TextBuffer out(sink);
  for (int i = 0; i < 400'000; ++i) out.put("0123456789");
  EXPECT_TRUE(out.failed());
  const Status status = out.finish();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "no room");
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace stepscope

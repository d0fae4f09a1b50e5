// Exactness is the point: every expected value is written out.
#include "import/chrome_json/decimal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

namespace stepscope::chrome_json {
namespace {

TEST(Decimal, ReadsMicrosecondsToTheNanosecond) {
  EXPECT_EQ(nanoseconds_from("5117589390354.554"), 5117589390354554);
  EXPECT_EQ(nanoseconds_from("1790857026123456.789"), 1790857026123456789) << "a double loses 21 ns here";
  EXPECT_EQ(nanoseconds_from("0.001"), 1);
  EXPECT_EQ(nanoseconds_from("12"), 12000);
  EXPECT_EQ(nanoseconds_from("12.5"), 12500);
  EXPECT_EQ(nanoseconds_from("-1.000"), -1000);
  EXPECT_EQ(nanoseconds_from(".5"), 500);
  EXPECT_EQ(nanoseconds_from("+3"), 3000);
}

TEST(Decimal, RoundsWhatDoublesPrint) {
  EXPECT_EQ(nanoseconds_from("15670.969999999999"), 15670970);
  EXPECT_EQ(nanoseconds_from("18.701000000000001"), 18701);
  EXPECT_EQ(nanoseconds_from("0.0004"), 0);
  EXPECT_EQ(nanoseconds_from("0.0005"), 1);
  EXPECT_EQ(nanoseconds_from("1e3"), 1000000);
  EXPECT_EQ(nanoseconds_from("1.5e-3"), 2);
  EXPECT_EQ(nanoseconds_from("1.7908570261234568e+15"), 1790857026123456800);
}

TEST(Decimal, KnowsItsLimits) {
  EXPECT_EQ(nanoseconds_from("9223372036854775.807"), std::numeric_limits<TimeNs>::max());
  EXPECT_EQ(nanoseconds_from("9223372036854775.808"), std::nullopt);
  EXPECT_EQ(nanoseconds_from("18446744073709551.615"), std::nullopt);
  EXPECT_EQ(nanoseconds_from("1e300"), std::nullopt);
  EXPECT_EQ(nanoseconds_from("1e-300"), 0);
  EXPECT_EQ(nanoseconds_from("1e99999999999"), std::nullopt);
  EXPECT_EQ(nanoseconds_from("99999999999999999999999999.0"), std::nullopt);
}

TEST(Decimal, RefusesWhatIsNoNumber) {
  for (const char* text : {"", "-", ".", "nan", "1.2.3", "12a", "0x10", "1e", "e5", " 1"}) {
    EXPECT_EQ(nanoseconds_from(text), std::nullopt) << text;
    EXPECT_FALSE(integer_from(text).has_value()) << text;
  }
}

TEST(Decimal, ReadsIntegers) {
  EXPECT_EQ(integer_from("9007199254740993"), MaybeInt(9007199254740993));
  EXPECT_EQ(integer_from("-1"), MaybeInt(-1));
  EXPECT_EQ(integer_from("3.0"), MaybeInt(3));
  EXPECT_EQ(integer_from("1e3"), MaybeInt(1000));
  EXPECT_EQ(integer_from("18446744073709551615"), MaybeInt(-1)) << "all 64 bits";
  EXPECT_FALSE(integer_from("18446744073709551616").has_value());
  EXPECT_FALSE(integer_from("-9223372036854775808").has_value()) << "it stands for a missing number";
}

// The quick ways inside a block give what the plain ones give.
TEST(Decimal, QuickWaysAgree) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200000; ++round) {
    std::string text = std::to_string(random() >> (random() % 64));
    if (round % 3 == 0) text.insert(text.size() - std::min<std::size_t>(text.size(), random() % 5), 1, '.');
    if (round % 7 == 0) text[random() % text.size()] = static_cast<char>(random() % 256);
    const std::string padded = text + "}   ,  \"x\"";
    const std::string_view inside(padded.data(), text.size());
    ASSERT_EQ(nanoseconds_in_block(inside), nanoseconds_from(text)) << text;
    ASSERT_EQ(integer_in_block(inside), integer_from(text)) << text;
  }
}

TEST(Decimal, ReadsReals) {
  EXPECT_EQ(real_from("0.5"), 0.5);
  EXPECT_EQ(real_from("-2"), -2.0);
  EXPECT_EQ(real_from("inf"), std::nullopt);
  EXPECT_EQ(real_from("-nan"), std::nullopt);
}

}  // namespace
}  // namespace stepscope::chrome_json

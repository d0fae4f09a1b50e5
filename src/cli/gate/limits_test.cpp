// Every way to type a limit, and what only looks like one.
#include "cli/gate/limits.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(GateLimits, SharesArePercentOrBelowOne) {
  EXPECT_DOUBLE_EQ(*parse_share("3%"), 0.03);
  EXPECT_DOUBLE_EQ(*parse_share("3 %"), 0.03);
  EXPECT_DOUBLE_EQ(*parse_share("0.03"), 0.03);
  EXPECT_DOUBLE_EQ(*parse_share(".5%"), 0.005);
  EXPECT_DOUBLE_EQ(*parse_share("250%"), 2.5);
  EXPECT_DOUBLE_EQ(*parse_share("0"), 0);
  EXPECT_DOUBLE_EQ(*parse_share("0%"), 0);
  EXPECT_DOUBLE_EQ(*parse_share("1e-2"), 0.01);
  for (const char* text :
       {"", "%", "3", "1", "-3%", "+3%", "3%%", "nan", "nan%", "inf", "1e999%", "0x1%", "3 percent", "3,5%", " 3%"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

TEST(GateLimits, TimesNeedAUnit) {
  EXPECT_EQ(parse_time_limit("2ms")->absolute, 2'000'000);
  EXPECT_EQ(parse_time_limit("500us")->absolute, 500'000);
  EXPECT_EQ(parse_time_limit("0.1s")->absolute, 100'000'000);
  EXPECT_DOUBLE_EQ(*parse_time_limit("3%")->ratio, 0.03);
  EXPECT_FALSE(parse_time_limit("3%")->absolute);
  for (const char* text : {"2", "2 parsecs", "-2ms", "0ms", "5MiB", "1e300s", "ms"})
    EXPECT_FALSE(parse_time_limit(text)) << text;
}

TEST(GateLimits, SizesNeedAUnit) {
  EXPECT_EQ(parse_size_limit("512MiB")->absolute, 512 << 20);
  EXPECT_EQ(parse_size_limit("2GB")->absolute, 2'000'000'000);
  EXPECT_DOUBLE_EQ(*parse_size_limit("0.05")->ratio, 0.05);
  for (const char* text : {"512", "-1MiB", "0MiB", "5ms", "MiB"}) EXPECT_FALSE(parse_size_limit(text)) << text;
}

}  // namespace
}  // namespace stepscope

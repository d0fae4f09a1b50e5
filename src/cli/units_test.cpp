// Each quantity with every unit it has, and the texts that only look like one.
#include "cli/units.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(Units, AmountsHaveThousandsByName) {
  EXPECT_EQ(parse_amount("7B"), 7e9);
  EXPECT_EQ(parse_amount("7b"), 7e9);
  EXPECT_EQ(parse_amount("7e9"), 7e9);
  EXPECT_EQ(parse_amount("7000000000"), 7e9);
  EXPECT_EQ(parse_amount("0.125G"), 125e6);
  EXPECT_EQ(parse_amount("137353728"), 137353728);
  EXPECT_EQ(parse_amount("2M"), 2e6);
  EXPECT_EQ(parse_amount("32k"), 32e3);
  EXPECT_EQ(parse_amount("1.8 T"), 1.8e12);
  EXPECT_EQ(parse_amount(".5K"), 500);
}

TEST(Units, RatesAndWorkHaveCapitalPrefixes) {
  for (const char* text :
       {"989T", "989e12", "0.989P", "989000G", "989 T", "989TFLOP/s", "989 TFLOPS", "989e12 FLOP/s"}) {
    ASSERT_TRUE(parse_flops_per_s(text)) << text;
    EXPECT_DOUBLE_EQ(*parse_flops_per_s(text), 989e12) << text;
  }
  for (const char* text : {"28P", "28e15", "28PFLOP", "28 PFLOPs", "0.028E"}) {
    ASSERT_TRUE(parse_flops(text)) << text;
    EXPECT_DOUBLE_EQ(*parse_flops(text), 28e15) << text;
  }
  EXPECT_FALSE(parse_flops_per_s("989t"));
  EXPECT_FALSE(parse_flops_per_s("989M"));
  EXPECT_FALSE(parse_flops("28 PFLOP/s"));
  EXPECT_FALSE(parse_flops_per_s("28 PFLOP"));
}

TEST(Units, Times) {
  EXPECT_EQ(parse_seconds("9"), 9);
  EXPECT_EQ(parse_seconds("9s"), 9);
  EXPECT_EQ(parse_seconds("9 s"), 9);
  EXPECT_DOUBLE_EQ(*parse_seconds("43.5ms"), 0.0435);
  EXPECT_DOUBLE_EQ(*parse_seconds("500us"), 500e-6);
  EXPECT_DOUBLE_EQ(*parse_seconds("500µs"), 500e-6);
  EXPECT_EQ(parse_seconds("2min"), 120);
}

TEST(Units, WhatIsNoQuantityIsNothing) {
  for (const char* text :
       {"",    " ",     "B",     "-7B",  "+7B", "0",     "0B",   "-0",   "nan",   "inf",   "7BB",   "7 B ",
        " 7B", "7,000", "7_000", "0x10", "7e",  "7e999", "7e9x", "7  B", "seven", "1.2.3", "7e9\n", "1e-400"}) {
    EXPECT_FALSE(parse_amount(text)) << '"' << text << '"';
    EXPECT_FALSE(parse_flops(text)) << '"' << text << '"';
    EXPECT_FALSE(parse_flops_per_s(text)) << '"' << text << '"';
    EXPECT_FALSE(parse_seconds(text)) << '"' << text << '"';
  }
}

std::string complaint(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(Units, ValidatorsSayWhatIsAllowed) {
  EXPECT_EQ(complaint(amount(), "7B"), "");
  EXPECT_NE(complaint(amount(), "7 bn").find("not 7 bn"), std::string::npos);
  EXPECT_NE(complaint(peak_flops(), "989").find("989T"), std::string::npos);
  EXPECT_NE(complaint(seconds(), "").find("not empty"), std::string::npos);
  for (const char* text : {"8K", "8e3", "8.0", "0", "-8", "", "99999999999999999999"}) {
    EXPECT_NE(complaint(plain_size(), text), "") << text;
  }
  EXPECT_EQ(complaint(plain_size(), "8192"), "");
  EXPECT_NE(complaint(plain_size(), "8K").find("8192"), std::string::npos);
  EXPECT_EQ(complaint(positive_count(), "64"), "");
  EXPECT_NE(complaint(positive_count(), "0"), "");
}

TEST(Units, NothingIsLostOnTheWay) {
  std::string text = "137353728";
  EXPECT_EQ(amount()(text), "");
  EXPECT_EQ(std::stod(text), 137353728);
  text = "43.5ms";
  EXPECT_EQ(seconds()(text), "");
  EXPECT_EQ(std::stod(text), *parse_seconds("43.5ms"));
}

}  // namespace
}  // namespace stepscope

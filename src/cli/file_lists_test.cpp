// The order of names; what arguments stand for is tested end to end (tests/cli/test_summarize.py).
#include "cli/file_lists.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stepscope {
namespace {

TEST(NaturalOrder, DigitsCompareAsNumbers) {
  const std::vector<std::string> sorted = {"",        "rank",    "rank0",  "rank02",  "rank2",       "rank10",
                                           "rank10a", "rank10b", "rank11", "rank100", "step1_rank9", "step1_rank10"};
  std::vector<std::string> names = sorted;
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(names.begin(), names.end(), random);
    std::sort(names.begin(), names.end(), is_naturally_before);
    EXPECT_EQ(names, sorted);
  }
}

TEST(NaturalOrder, NumbersOfAnyLengthAndEqualNames) {
  EXPECT_TRUE(is_naturally_before("a99999999999999999999999999998", "a99999999999999999999999999999"));
  EXPECT_FALSE(is_naturally_before("a1", "a1"));
  EXPECT_NE(is_naturally_before("a1", "a01"), is_naturally_before("a01", "a1")) << "different names have an order";
}

TEST(FileLists, WhatIsNoFileStandsForItself) {
  const FileList list = expand_files({"-", "no such file.json", "s3://bucket/rank*.json"}, FileKind::kTraces);
  EXPECT_TRUE(list.wrong.empty());
  EXPECT_EQ(list.files, (std::vector<std::string>{"-", "no such file.json", "s3://bucket/rank*.json"}));
}

}  // namespace
}  // namespace stepscope

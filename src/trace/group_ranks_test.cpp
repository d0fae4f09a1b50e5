// Lists as torch writes them, whole and cut.
#include "trace/group_ranks.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

using Ranks = std::vector<std::int64_t>;

TEST(GroupRanks, WholeLists) {
  EXPECT_EQ(read_group_ranks("[0, 1]"), (Ranks{0, 1}));
  EXPECT_EQ(read_group_ranks("[7]"), (Ranks{7}));
  EXPECT_EQ(read_group_ranks("[4,0,2]"), (Ranks{0, 2, 4}));
}

TEST(GroupRanks, AreWrittenAsTheyAreRead) {
  for (const Ranks& ranks : {Ranks{0, 1}, Ranks{7}, Ranks{0, 2, 4}}) {
    EXPECT_EQ(read_group_ranks(write_group_ranks(ranks)), ranks);
  }
  EXPECT_EQ(write_group_ranks({0, 1}), "[0, 1]");
}

TEST(GroupRanks, WhatIsNoWholeListGivesNone) {
  for (const char* text : {"", "[]", "[0, 1, ...", "[0, 1, ...]", "[0, ..., 7]", "[0, 1", "0, 1", "[0, -1]", "[0, 0]",
                           "[0 1]", "[99999999999]", "[0, 1] "}) {
    EXPECT_EQ(read_group_ranks(text), Ranks{}) << text;
  }
}

}  // namespace
}  // namespace stepscope

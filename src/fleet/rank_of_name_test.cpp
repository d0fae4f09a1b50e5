// Names as schedulers, handlers and people write them.
#include "fleet/rank_of_name.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(RankOfName, TheWaysInWhichRanksAreWritten) {
  EXPECT_EQ(rank_of_name("rank3.json.gz"), 3);
  EXPECT_EQ(rank_of_name("run/ddp_rank_12.pt.trace.json"), 12);
  EXPECT_EQ(rank_of_name("trace-Rank-007.json"), 7);
  EXPECT_EQ(rank_of_name("rank=16383.json"), 16383);
  EXPECT_EQ(rank_of_name("rank0of8.json"), 0);
}

TEST(RankOfName, TheFolderCountsWhenTheNameSaysNothing) {
  EXPECT_EQ(rank_of_name("profiles/rank_5/host_577.1234.pt.trace.json"), 5);
  EXPECT_EQ(rank_of_name("rank1/rank2.json"), 2);
  EXPECT_EQ(rank_of_name("rank1/steps/trace.json"), std::nullopt);
}

TEST(RankOfName, OtherNumbersAreNoRanks) {
  for (const char* name : {"host_577.1790857026.pt.trace.json", "trace_r2.json", "lowrank16.json", "local_rank3.json",
                           "node_rank1.json", "rank.json", "ranking/trace.json", "rank99999999999.json", ""}) {
    EXPECT_EQ(rank_of_name(name), std::nullopt) << name;
  }
  EXPECT_EQ(rank_of_name("node1_local_rank3_rank11.json"), 11);
}

}  // namespace
}  // namespace stepscope

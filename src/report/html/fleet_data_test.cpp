// A drawn fleet's page data against the facts they are made of.
#include "report/html/fleet_data.h"

#include <gtest/gtest.h>

#include "report/html/page_reader.h"
#include "support/made_fleet.h"

namespace stepscope {
namespace {

constexpr std::string_view kLateRank = R"(
  rank 0  |ccccA---==cc|ccccA---==cc|
  rank 1  |cccccccA==cc|cccccccA==cc|
  A = allreduce of dp on 0 1, 100 MB
)";
constexpr DurationNs kMs = MadeFleet::kMs;

TEST(FleetPageData, EachStepOfEachRank) {
  const FleetFacts facts = compute_fleet_facts(MadeFleet(kLateRank).run);
  const PageReader page(build_fleet_page_bytes(facts));
  EXPECT_EQ(page.numbers("rank_steps", "rank"), (std::vector<std::int64_t>{0, 1, 0, 1}));
  const auto starts = page.numbers("rank_steps", "start_ns");
  EXPECT_EQ(starts[0], 0);
  EXPECT_EQ(starts[2], 12 * kMs);
  EXPECT_EQ(page.numbers("rank_steps", "duration_ns"), (std::vector<std::int64_t>(4, 12 * kMs)));
  EXPECT_EQ(page.numbers("rank_steps", "wait_ns"), (std::vector<std::int64_t>{3 * kMs, 0, 3 * kMs, 0}));
  // What is left of the collective when all have come.
  EXPECT_EQ(page.numbers("rank_steps", "communication_ns"), (std::vector<std::int64_t>(4, 3 * kMs)));
}

TEST(FleetPageData, LastStepsAreLeftOutOfAllRanksAlike) {
  const FleetFacts facts = compute_fleet_facts(MadeFleet(kLateRank).run);
  const PageReader page(build_fleet_page_bytes(facts, 3));
  EXPECT_EQ(page.numbers("rank_steps", "rank").size(), 2U);
}

TEST(FleetPageData, NothingWhereNobodyMet) { EXPECT_EQ(build_fleet_page_data(FleetFacts{}), ""); }

}  // namespace
}  // namespace stepscope

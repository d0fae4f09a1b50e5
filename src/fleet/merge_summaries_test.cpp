// Merging is the union of sets: any tree of merges gives the same bytes.
#include <gtest/gtest.h>

#include <algorithm>

#include "fleet/summary_file.h"
#include "fleet/summary_test_support.h"

namespace stepscope {
namespace {

RunSummary read(const std::string& bytes) {
  auto run = read_summary(bytes, "x.sss");
  EXPECT_TRUE(run.has_value());
  return run ? std::move(*run) : RunSummary{};
}

// As machines do it: every part is a file.
std::string merge_files(const std::vector<std::string>& files) {
  std::vector<RunSummary> parts;
  parts.reserve(files.size());
  for (const std::string& file : files) parts.push_back(read(file));
  return write_summary(merge_summaries(std::move(parts)));
}

TEST(MergeSummaries, AnyTreeGivesTheSameBytes) {
  SummaryMaker maker(11);
  std::mt19937 random(12);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> files;
    for (std::int64_t i = maker.number(1, 9); i > 0; --i) files.push_back(write_summary(maker.run(3)));
    const std::string at_once = merge_files(files);
    EXPECT_EQ(merge_files({at_once}), at_once);
    EXPECT_EQ(merge_files({at_once, at_once}), at_once);
    // A random tree: two or three of those that are left become one, some a second time.
    std::vector<std::string> left = files;
    while (left.size() > 1) {
      std::shuffle(left.begin(), left.end(), random);
      const std::size_t taken = std::min<std::size_t>(left.size(), 2 + random() % 2);
      const std::string merged = merge_files({left.end() - static_cast<std::ptrdiff_t>(taken), left.end()});
      left.resize(left.size() - taken);
      left.push_back(merged);
      if (random() % 4 == 0) left.push_back(files[random() % files.size()]);
      if (left.size() > 20) break;
    }
    EXPECT_EQ(merge_files(left), at_once);
  }
}

TEST(MergeSummaries, ARunWithNothingInItChangesNothing) {
  SummaryMaker maker(13);
  const std::string file = write_summary(maker.run(4));
  const std::string nothing = write_summary({});
  EXPECT_EQ(merge_files({file, nothing}), file);
  EXPECT_EQ(merge_files({nothing, nothing}), nothing);
  EXPECT_EQ(merge_files({}), nothing);
}

TEST(MergeSummaries, TwoRecordingsOfOneRankStayTwo) {
  SummaryMaker maker(14);
  RankSummary first = maker.rank(), second = maker.rank();
  first.rank = second.rank = 3;
  const RunSummary merged = merge_summaries({{{first}, {}}, {{second}, {}}, {{first}, {}}});
  EXPECT_EQ(merged.ranks.size(), 2U);
}

TEST(MergeSummaries, RanksStandInTheOrderOfTheirNumbers) {
  RunSummary run;
  for (const std::int64_t rank : {10, 2, 1, 33}) {
    run.ranks.emplace_back();
    run.ranks.back().rank = rank;
  }
  run.ranks.emplace_back();
  const RunSummary merged = merge_summaries({run});
  ASSERT_EQ(merged.ranks.size(), 5U);
  EXPECT_FALSE(merged.ranks[0].rank.has_value());
  std::vector<std::int64_t> order;
  for (std::size_t i = 1; i < 5; ++i) order.push_back(*merged.ranks[i].rank);
  EXPECT_EQ(order, (std::vector<std::int64_t>{1, 2, 10, 33}));
}

TEST(MergeSummaries, AThousandRanksInAnyOrder) {
  SummaryMaker maker(15);
  std::vector<RunSummary> parts;
  for (std::int64_t rank = 0; rank < 1024; ++rank) {
    RankSummary summary = maker.rank();
    summary.rank = rank;
    parts.push_back({{summary}, {}});
  }
  const std::string in_order = write_summary(merge_summaries(parts));
  std::mt19937 random(16);
  std::shuffle(parts.begin(), parts.end(), random);
  std::vector<RunSummary> halves(2);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    halves[i % 2] = i < 2 ? parts[i] : merge_summaries({std::move(halves[i % 2]), parts[i]});
    if (i > 60) break;  // one at a time is quadratic: the rest at once
  }
  std::vector<RunSummary> rest(parts.begin() + 62, parts.end());
  rest.push_back(std::move(halves[0]));
  rest.push_back(std::move(halves[1]));
  EXPECT_EQ(write_summary(merge_summaries(std::move(rest))), in_order);
}

}  // namespace
}  // namespace stepscope

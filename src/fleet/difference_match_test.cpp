// What is paired with what.
#include "fleet/difference_match.h"

#include <gtest/gtest.h>

#include <set>

namespace stepscope {
namespace {

WorkSeries row(const std::string& operator_name, const std::string& shapes, const std::string& kernel,
               const std::string& place, KernelClass kernel_class, double calls, double busy_ns) {
  return {{operator_name, shapes, kernel, place, kernel_class}, calls, {{busy_ns, busy_ns}}};
}

constexpr KernelClass kMatmul = KernelClass::kMatmul, kElementwise = KernelClass::kElementwise;

std::optional<WorkPair> pair_of_before(const std::vector<WorkPair>& pairs, std::size_t before) {
  for (const WorkPair& pair : pairs) {
    if (pair.before == before) return pair;
  }
  return std::nullopt;
}

void expect_pair(const WorkSeries& before, const WorkSeries& after, WorkMatch match) {
  const std::vector<WorkPair> pairs = match_work({before}, {after});
  ASSERT_EQ(pairs.size(), 1U) << work_match_name(match);
  EXPECT_EQ(pairs.front().match, match);
}

TEST(MatchWork, OneThingMayDiffer) {
  const WorkSeries mm = row("aten::mm", "[8, 8]", "gemm", "forward", kMatmul, 12, 100);
  expect_pair(mm, mm, WorkMatch::kSame);
  expect_pair(mm, row("aten::mm", "[8, 8]", "nvjet", "forward", kMatmul, 12, 90), WorkMatch::kRenamed);
  expect_pair(mm, row("aten::mm", "[8, 8]", "gemm", "fwd", kMatmul, 12, 100), WorkMatch::kMoved);
  expect_pair(mm, row("aten::mm", "[16, 8]", "gemm", "forward", kMatmul, 12, 200), WorkMatch::kReshaped);
  expect_pair(mm, row("aten::mm", "[16, 8]", "nvjet", "forward", kMatmul, 12, 200), WorkMatch::kReshaped);
  expect_pair(mm, row("mylib::mm", "[8, 8]", "mine", "forward", kMatmul, 12, 80), WorkMatch::kReplaced);
}

TEST(MatchWork, GuessesNeedALikeNumberOfCallsAndASpeakingClass) {
  const WorkSeries mm = row("aten::mm", "[8, 8]", "gemm", "forward", kMatmul, 12, 100);
  EXPECT_EQ(match_work({mm}, {row("mylib::mm", "[8, 8]", "mine", "forward", kMatmul, 24, 80)}).size(), 2U);
  const WorkSeries add = row("aten::add", "", "add", "forward", kElementwise, 12, 10);
  EXPECT_EQ(match_work({add}, {row("aten::mul", "", "mul", "forward", kElementwise, 12, 10)}).size(), 2U);
}

TEST(MatchWork, RenamedKernelsOfOneOperatorMeetByCalls) {
  // A matmul in two kernels, the product and the sum over its parts, both renamed.
  const std::vector<WorkSeries> before = {row("aten::mm", "s", "gemm_splitk", "f", kMatmul, 12, 100),
                                          row("aten::mm", "s", "reduce_splitk", "f", kMatmul, 6, 10)};
  const std::vector<WorkSeries> after = {row("aten::mm", "s", "reduce_v2", "f", kMatmul, 6, 11),
                                         row("aten::mm", "s", "gemm_v2", "f", kMatmul, 12, 90)};
  const std::vector<WorkPair> pairs = match_work(before, after);
  EXPECT_EQ(pair_of_before(pairs, 0)->after, 1U);
  EXPECT_EQ(pair_of_before(pairs, 1)->after, 0U);
}

TEST(MatchWork, UnnamedOperatorsAreRenamedByCallsOnly) {
  const WorkSeries before = row("", "", "old_kernel", "f", kMatmul, 12, 100);
  expect_pair(before, row("", "", "new_kernel", "f", kMatmul, 12, 100), WorkMatch::kRenamed);
  EXPECT_EQ(match_work({before}, {row("", "", "new_kernel", "f", kMatmul, 40, 100)}).size(), 2U);
}

TEST(MatchWork, WhatSummariesDidNotKeepIsNeitherNewNorGone) {
  const WorkSeries rest = row("", "", "", "", kMatmul, 100, 50);
  expect_pair(rest, rest, WorkMatch::kRest);
  const std::vector<WorkPair> pairs = match_work({rest}, {row("aten::mm", "s", "k", "f", kMatmul, 100, 50)});
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pair_of_before(pairs, 0)->match, WorkMatch::kRest);
}

TEST(MatchWork, EveryRowStandsInOnePair) {
  std::vector<WorkSeries> before, after;
  const auto name = [](const char* stem, int number) { return std::string(stem).append(std::to_string(number)); };
  for (int i = 0; i < 40; ++i) {
    const auto kernel_class = static_cast<KernelClass>(i % 12);
    before.push_back(row(name(i % 3 == 0 ? "" : "op", i % 5), name("s", i % 2), name("k", i), name("p", i % 4),
                         kernel_class, i % 7 + 1, i));
    after.push_back(
        row(name("op", i % 4), name("s", i % 3), name("k", i * 2), name("p", i % 3), kernel_class, i % 5 + 1, i));
  }
  std::multiset<std::size_t> first, second;
  for (const WorkPair& pair : match_work(before, after)) {
    if (pair.before) first.insert(*pair.before);
    if (pair.after) second.insert(*pair.after);
  }
  EXPECT_EQ(first.size(), 40U);
  EXPECT_EQ(second.size(), 40U);
  EXPECT_EQ(std::set<std::size_t>(first.begin(), first.end()).size(), 40U);
  EXPECT_EQ(std::set<std::size_t>(second.begin(), second.end()).size(), 40U);
}

}  // namespace
}  // namespace stepscope

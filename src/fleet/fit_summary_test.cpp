// Summaries that do not fit: what is given up, that sums hold, and that nothing is ever larger than it may be.
#include "fleet/fit_summary.h"

#include <gtest/gtest.h>

#include <numeric>

#include "fleet/reduced_replay.h"
#include "fleet/summary_file.h"
#include "fleet/summary_limits.h"
#include "fleet/summary_test_support.h"

namespace stepscope {
namespace {

// Steps, rows and collectives with numbers that do not compress, and names that do not either.
struct Sizes {
  std::size_t steps = 0, rows = 0, collectives_per_step = 0, operators = 0, name_bytes = 20;
};

RankSummary make_summary(const Sizes& sizes) {
  SummaryMaker maker(sizes.steps * 31 + sizes.rows * 7 + sizes.collectives_per_step);
  const auto name = [&] {
    std::string text(sizes.name_bytes, ' ');
    for (char& c : text) c = static_cast<char>(maker.number('!', '~'));
    return text;
  };
  RankSummary made;
  made.groups.resize(1);
  made.collective_names = {"allreduce"};
  for (std::size_t s = 0; s < sizes.steps; ++s) {
    SummaryStep step;
    step.number = static_cast<std::int64_t>(s);
    step.start_ns = maker.number(0, kMostTimeNs);
    step.gpu_busy_ns = 0;
    for (DurationNs& idle : step.idle_ns) idle = maker.number(0, 1 << 30);
    made.steps.push_back(step);
    for (std::size_t c = 0; c < sizes.collectives_per_step; ++c) {
      SummaryCollective each;
      each.step = static_cast<std::uint32_t>(s);
      each.sequence = static_cast<std::uint32_t>(c);
      each.start_ns = maker.number(0, kMostTimeNs / 2);
      each.end_ns = each.start_ns + maker.number(0, 1 << 30);
      each.bytes = maker.number(0, 1 << 30);
      made.collectives.push_back(each);
    }
  }
  for (std::size_t r = 0; r < sizes.rows; ++r) {
    SummaryWork row;
    row.operator_name = name();
    row.kernel = name();
    row.shapes = name();
    row.place = name();
    row.kernel_class = static_cast<KernelClass>(r % 3);
    row.count = maker.number(1, 1 << 20);
    row.gpu_sum_ns = maker.number(0, 1 << 30);
    for (SummaryStep& step : made.steps) {
      row.busy_by_step_ns.push_back(maker.number(0, 1 << 20));
      step.gpu_busy_ns += row.busy_by_step_ns.back();
    }
    made.work.push_back(row);
  }
  for (SummaryStep& step : made.steps) {
    step.duration_ns = std::accumulate(step.idle_ns.begin(), step.idle_ns.end(), step.gpu_busy_ns);
  }
  for (std::size_t i = 0; i < sizes.operators; ++i) made.operators.push_back({name(), 1, maker.number(0, 1 << 30)});
  return made;
}

struct Sums {
  std::int64_t count = 0, gpu_sum_ns = 0, operator_ns = 0, collectives = 0, steps = 0;
  bool operator==(const Sums&) const = default;
};
Sums sums_of(const RankSummary& summary) {
  Sums sums;
  for (const SummaryWork& row : summary.work) sums.count += row.count, sums.gpu_sum_ns += row.gpu_sum_ns;
  for (const SummaryOperator& row : summary.operators) sums.operator_ns += row.self_cpu_ns;
  sums.collectives = static_cast<std::int64_t>(summary.collectives.size()) + summary.collectives_not_kept_count;
  sums.steps = static_cast<std::int64_t>(summary.steps.size()) + summary.steps_not_kept_count;
  return sums;
}

void expect_fits(const RankSummary& before) {
  RankSummary fitted = before;
  const std::string payload = fit_and_encode(fitted);
  EXPECT_EQ(sums_of(fitted), sums_of(before));
  for (std::size_t i = 0; i < fitted.steps.size(); ++i) {
    DurationNs work = 0;
    for (const SummaryWork& row : fitted.work) work += row.busy_by_step_ns.at(i);
    EXPECT_EQ(work, fitted.steps[i].gpu_busy_ns);
  }
  RankSummary again = fitted;
  EXPECT_EQ(fit_and_encode(again), payload) << "what fits is left as it is";
  const std::string file = write_summary({{before}, {}});
  EXPECT_LE(file.size(), kMaxRankSummaryBytes);
  const auto read = read_summary(file, "x.sss");
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  again = read->ranks.at(0);
  EXPECT_EQ(fit_and_encode(again), payload) << "what is read back is what was fitted";
}

TEST(FitSummary, HostileSizesFit) {
  expect_fits(make_summary({.steps = 1000, .rows = 1000, .operators = 1000}));
  expect_fits(make_summary({.steps = 3000, .rows = 10}));
  expect_fits(make_summary({.steps = 3, .rows = 5000, .name_bytes = 500}));
  expect_fits(make_summary({.steps = 3, .rows = 20, .collectives_per_step = 50'000}));
  expect_fits(make_summary({.steps = 200, .collectives_per_step = 500}));
  expect_fits(make_summary({.steps = 1, .rows = 3, .operators = 3, .name_bytes = 1 << 20}));
  expect_fits(
      make_summary({.steps = 1024, .rows = 600, .collectives_per_step = 100, .operators = 600, .name_bytes = 600}));
}

TEST(FitSummary, AnOrdinarySummaryLosesNothing) {
  const RankSummary summary = make_summary({.steps = 20, .rows = 200, .collectives_per_step = 60, .operators = 100});
  RankSummary fitted = summary;
  fit_summary(fitted);
  EXPECT_EQ(fitted.work.size(), summary.work.size());
  EXPECT_EQ(fitted.collectives.size(), summary.collectives.size());
  EXPECT_EQ(fitted.operators.size(), summary.operators.size());
}

TEST(FitSummary, RowsGoBeforeSteps) {
  RankSummary summary = make_summary({.steps = 1000, .rows = 400});
  fit_summary(summary);
  EXPECT_EQ(summary.steps.size(), 1000U);
  EXPECT_LT(summary.work.size(), 400U);
  EXPECT_TRUE(summary.work.back().kernel.empty());
}

TEST(FitSummary, OfManyStepsThoseThatStayStandForAll) {
  RankSummary summary = make_summary({.steps = 3000, .rows = 10});
  RankSummary first_ones = summary;
  fit_summary(summary);
  EXPECT_TRUE(summary.are_steps_spread);
  EXPECT_EQ(summary.steps.back().number, 2999);
  EXPECT_LE(summary.steps.size(), kMostSummarySteps);
  first_ones.steps_not_kept_count = 500;  // as earlier versions kept them
  fit_summary(first_ones);
  EXPECT_FALSE(first_ones.are_steps_spread) << "steps that follow are not known";
  EXPECT_EQ(first_ones.steps.back().number, static_cast<std::int64_t>(first_ones.steps.size()) - 1);
}

TEST(FitSummary, CollectivesAreKeptByWholeSteps) {
  RankSummary summary = make_summary({.steps = 100, .collectives_per_step = 300});
  fit_summary(summary);
  EXPECT_EQ(summary.collectives.size() % 300, 0U);
  EXPECT_GT(summary.collectives.size(), 0U);
  EXPECT_GT(summary.collectives_not_kept_count, 0);
}

// A chain through all collectives of the first step, whose times do not compress.
void give_replay(RankSummary& summary, std::uint32_t collectives) {
  using Kind = SummaryReplayPoint::Kind;
  SummaryMaker maker(1);
  summary.replay.points = {{}};
  summary.replay.step_count = 1;
  for (std::uint32_t c = 0; c < collectives; ++c) {
    for (const Kind kind : {Kind::kReady, Kind::kArrival, Kind::kEnd}) {
      const auto to = static_cast<std::uint32_t>(summary.replay.points.size());
      summary.replay.points.push_back({kind, c, maker.number(0, 1 << 30)});
      const DurationNs length = maker.number(0, 1 << 30);
      summary.replay.edges.push_back({to - 1, to, length, length, length});
    }
  }
}

TEST(FitSummary, AReplayOfThousandsOfCollectivesIsKeptWhereItFits) {
  // 192 KiB as it is kept: more than several steps may take, and one step may.
  RankSummary summary = make_summary({.steps = 2, .collectives_per_step = 3'000});
  give_replay(summary, 3'000);
  ASSERT_GT(estimate_replay_bytes(summary.replay), ReplayBudget().max_bytes);
  fit_summary(summary);
  EXPECT_FALSE(summary.replay.refused);
  EXPECT_EQ(summary.replay.points.size(), 9'001U);
  EXPECT_EQ(summary.collectives.size(), 6'000U);
  expect_fits(summary);
  // Beside so many collectives it does not fit, and goes before they do.
  RankSummary full = make_summary({.steps = 2, .collectives_per_step = 7'000});
  give_replay(full, 7'000);
  fit_summary(full);
  EXPECT_EQ(full.replay.refused, "the graph of its waits does not fit a summary");
  EXPECT_TRUE(full.replay.points.empty());
  EXPECT_GE(full.collectives.size(), 7'000U);
  expect_fits(full);
}

TEST(FitSummary, ImpossibleNumbersAreBoundedAndCanBeRead) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  RankSummary summary = make_summary({.steps = 2, .rows = 2, .collectives_per_step = 1});
  summary.steps[0].start_ns = kMost;
  summary.steps[1].duration_ns = -kMost;
  summary.steps[1].allocated_peak_bytes = kMost;
  summary.work[0].gpu_sum_ns = kMost;
  summary.collectives[0].end_ns = kMost;
  summary.collectives[0].bytes = -1;
  summary.device_memory_bytes = kMost;
  summary.rank = kMost;
  summary.unprofiled_step = Estimate{-kMost, 0, kMost};
  const auto read = read_summary(write_summary({{summary}, {}}), "x.sss");
  ASSERT_TRUE(read.has_value()) << read.error().to_string();
  EXPECT_EQ(read->ranks[0].rank, kMost);
  EXPECT_EQ(read->ranks[0].collectives[0].bytes, std::nullopt);
}

TEST(FitText, LongTextsAreCutAtACharacterAndStayDifferent) {
  EXPECT_EQ(fit_text("short", 128), "short");
  const std::string a(1 << 20, 'a'), b = a + "b";
  const std::string cut = fit_text(a, 512);
  EXPECT_LE(cut.size(), 512U);
  EXPECT_NE(cut, fit_text(b, 512));
  EXPECT_EQ(fit_text(cut, 512), cut);
  std::string umlauts;
  for (int i = 0; i < 300; ++i) umlauts += "ü";
  const std::string cut_umlauts = fit_text("x" + umlauts, 128);
  EXPECT_EQ(cut_umlauts.substr(0, 3), "xü");
  EXPECT_EQ(cut_umlauts.find("ü…") != std::string::npos, true) << cut_umlauts;
}

}  // namespace
}  // namespace stepscope

// The sentences of a difference, and that no name gets out as it came in.
#include <gtest/gtest.h>

#include "report/diff_report.h"
#include "report/diff_words.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr DurationNs kMs = 1'000'000;

DiffReport report_of(CompareVerdict verdict, double ratio, ConfidenceInterval interval) {
  DiffReport report;
  report.before_files = {"a.json"};
  report.after_files = {"b.json"};
  RankDifference rank;
  rank.before.sources = {"a.json"};
  rank.after.sources = {"b.json"};
  rank.before.step_count = rank.after.step_count = 20;
  rank.before.median_ns = rank.before.least_ns = rank.before.greatest_ns = 40 * kMs;
  rank.after.median_ns = rank.after.least_ns = rank.after.greatest_ns = static_cast<DurationNs>(40e6 * ratio);
  rank.step.verdict = verdict;
  rank.step.unit = CompareUnit::kSteps;
  rank.step.base_count = rank.step.other_count = 20;
  rank.step.ratio = ratio;
  rank.step.interval = interval;
  rank.mean_step = {40 * kMs, rank.after.median_ns, kMs / 10, true};
  rank.gpu_busy = {40 * kMs, rank.after.median_ns, kMs / 10, true};
  rank.gpu_work = rank.gpu_busy;
  rank.classes = {{KernelClass::kMatmul, rank.gpu_busy}};
  WorkDifference work;
  work.before = work.after = {"aten::mm", "", "gemm", "forward", KernelClass::kMatmul};
  work.before_call_count = work.after_call_count = 10;
  work.busy = rank.gpu_busy;
  work.by_time_ns = work.busy.difference_ns();
  rank.work = {work};
  report.difference.ranks = {RankChange{}};
  report.difference.typical_rank = report.difference.largest_rank = rank;
  return report;
}

TEST(DiffAnswer, SaysHowMuchAndHowSure) {
  EXPECT_EQ(diff_answer(report_of(CompareVerdict::kSlower, 1.031, {1.028, 1.034}).difference),
            "B is 3.1 % slower: a step takes 41.2 ms instead of 40.0 ms (2.8 to 3.4 %).");
  EXPECT_EQ(diff_answer(report_of(CompareVerdict::kFaster, 0.97, {0.96, 0.98}).difference),
            "B is 3.0 % faster: a step takes 38.8 ms instead of 40.0 ms (2.0 to 4.0 %).");
  EXPECT_EQ(diff_answer(report_of(CompareVerdict::kSlower, 2.2, {2.0, 2.5}).difference),
            "B takes 2.2 times as long: a step takes 88.0 ms instead of 40.0 ms (2.0 to 2.5 times).");
  EXPECT_EQ(diff_answer(report_of(CompareVerdict::kFaster, 0.5, {0.4, 0.625}).difference),
            "B is 2.0 times as fast: a step takes 20.0 ms instead of 40.0 ms (1.6 to 2.5 times).");
}

TEST(DiffAnswer, TellsOfTheGpuWhereTheStepIsTooNoisy) {
  const std::string words = diff_answer(report_of(CompareVerdict::kNoDifference, 1.031, {0.9, 1.2}).difference);
  EXPECT_EQ(
      words,
      "No difference can be told: a step takes 41.2 ms instead of 40.0 ms (-10.0 to +20 %). But the GPU works 3.1 % "
      "longer in every step: 41.2 ms instead of 40.0 ms.");
}

TEST(DiffAnswer, IsWithheldWithItsReason) {
  DiffReport report = report_of(CompareVerdict::kSlower, 2, {1.9, 2.1});
  report.difference.withheld = "A (a.json): half of it is missing";
  EXPECT_EQ(diff_answer(report.difference), "No verdict can be given. A (a.json): half of it is missing");
  EXPECT_EQ(diff_verdict_name(report.difference), "withheld");
}

TEST(DiffText, HostileNamesAreMadeSafe) {
  DiffReport report = report_of(CompareVerdict::kSlower, 1.5, {1.4, 1.6});
  const std::string hostile = "\x1b[31m\xff\n\u202e";
  report.before_files = report.after_files = {hostile};
  for (RankDifference* rank : {&report.difference.typical_rank, &report.difference.largest_rank}) {
    rank->after.sources = {hostile};
    rank->work[0].before = rank->work[0].after = {hostile, hostile, hostile, hostile, KernelClass::kMatmul};
    rank->operators = {{hostile, 1, 1, rank->gpu_busy}};
    rank->findings = {{FindingChange::kAppeared, hostile, std::nullopt,
                       SummaryFinding{hostile, "fault", Estimate{1, 2, 3}, 0.5, hostile}}};
  }
  report.difference.doubts = {hostile};
  report.difference.unreadable = {{hostile, hostile}};
  for (const std::string& text : {write_diff_text(report, {}), write_diff_json(report)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_EQ(text.find("\u202e"), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
  }
}

TEST(DiffText, SaysWhatTheRangeOfManyStepsIs) {
  DiffReport report = report_of(CompareVerdict::kSlower, 1.5, {1.4, 1.6});
  for (RankDifference* rank : {&report.difference.typical_rank, &report.difference.largest_rank}) {
    rank->before.greatest_ns = 80 * kMs;
    rank->after.step_count = 9;  // as `report` shows so few
  }
  const std::string text = write_diff_text(report, {});
  EXPECT_NE(text.find("40.0 ms (all within 40.0 to 80.0)"), std::string::npos) << text;
  EXPECT_NE(text.find("60.0 ms (60.0 to 60.0)"), std::string::npos) << text;
}

TEST(DiffText, FitsItsWidth) {
  DiffReport report = report_of(CompareVerdict::kSlower, 1.5, {1.4, 1.6});
  for (RankDifference* rank : {&report.difference.typical_rank, &report.difference.largest_rank}) {
    rank->work[0].before =
        rank->work[0].after = {std::string(300, 'o'), "", std::string(300, 'k'), "", KernelClass::kMatmul};
  }
  report.before_files = report.after_files = {std::string(200, 'f')};
  for (const std::size_t width : {60U, 80U, 200U}) {
    Style style;
    style.width = width;
    style.ascii = true;
    const std::string text = write_diff_text(report, style);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(display_width(std::string_view(text).substr(at, end - at)), width) << text.substr(at, end - at);
      at = end + 1;
    }
    EXPECT_NE(text.find('#'), std::string::npos);
    EXPECT_EQ(text.find("█"), std::string::npos);
  }
}

}  // namespace
}  // namespace stepscope

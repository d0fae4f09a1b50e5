// Statistics against values computed apart, and the text as users read it.
#include "stepscope/measurement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace stepscope {
namespace {

Measurement measured(TaskSpec task, std::vector<double> times_ns, std::int64_t number = 1,
                     std::vector<std::string> notes = {}) {
  return Measurement::make(std::move(task), std::move(times_ns), number, std::move(notes)).value();
}

TaskSpec labelled(std::string label, std::string sub_label = "") {
  TaskSpec task;
  task.label = std::move(label);
  task.sub_label = std::move(sub_label);
  return task;
}

TEST(Measurement, TimesAreOfOneRun) {
  const Measurement m = measured({}, {4000, 1000, 3000, 2000}, 100);
  EXPECT_EQ(m.raw_times_ns(), (std::vector<double>{4000, 1000, 3000, 2000}));
  EXPECT_EQ(m.times_ns(), (std::vector<double>{40, 10, 30, 20}));
  EXPECT_DOUBLE_EQ(m.median_ns(), 25);
  EXPECT_DOUBLE_EQ(m.mean_ns(), 25);
  EXPECT_DOUBLE_EQ(m.iqr_ns(), 32.5 - 17.5);
  EXPECT_DOUBLE_EQ(m.percentile_ns(0), 10);
  EXPECT_DOUBLE_EQ(m.percentile_ns(90), 37);
  EXPECT_DOUBLE_EQ(m.percentile_ns(-3), 10);
  EXPECT_DOUBLE_EQ(m.percentile_ns(1e9), 40);
  EXPECT_DOUBLE_EQ(m.percentile_ns(std::nan("")), 10);
}

// Another reading of the definitions: sort, index, interpolate by hand.
TEST(Measurement, RandomSamplesAgreeWithTheDefinitions) {
  std::mt19937 random(11);
  std::lognormal_distribution<double> time(8, 0.3);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> times(1 + random() % 60);
    for (double& each : times) each = std::floor(time(random));
    const auto number = static_cast<std::int64_t>(1 + random() % 1000);
    const Measurement m = measured({}, times, number);
    std::vector<double> sorted;
    for (const double each : times) sorted.push_back(each / static_cast<double>(number));
    std::sort(sorted.begin(), sorted.end());
    const auto at = [&](double percent) {
      const double place = percent / 100 * (static_cast<double>(sorted.size()) - 1);
      const auto below = static_cast<std::size_t>(std::floor(place));
      const auto above = static_cast<std::size_t>(std::ceil(place));
      return sorted[below] * (1 - (place - std::floor(place))) + sorted[above] * (place - std::floor(place));
    };
    EXPECT_NEAR(m.median_ns(), at(50), 1e-9 * at(50));
    EXPECT_NEAR(m.iqr_ns(), at(75) - at(25), 1e-9 * at(50));
    EXPECT_NEAR(m.percentile_ns(37), at(37), 1e-9 * at(50));
    const std::size_t from = sorted.size() / 4;
    const std::size_t to = static_cast<std::size_t>(std::ceil(3.0 * static_cast<double>(sorted.size()) / 4));
    double sum = 0, squares = 0;
    for (std::size_t i = from; i < to; ++i) sum += sorted[i];
    const double count = static_cast<double>(to - from);
    for (std::size_t i = from; i < to; ++i) squares += std::pow(sorted[i] - sum / count, 2);
    const double interval = std::max(25.0, 1.645 * std::sqrt(squares / count) / std::sqrt(count));
    const double figures = std::floor(std::log10(at(50) / interval));
    EXPECT_EQ(m.significant_figures(), static_cast<int>(std::min(4.0, std::max(1.0, figures))));
    EXPECT_EQ(m.meets_confidence(0.1), at(75) - at(25) < 0.1 * at(50) || at(75) == at(25));
  }
}

TEST(Measurement, WhatIsNoMeasurementIsAnError) {
  EXPECT_FALSE(Measurement::make({}, {}, 1).has_value());
  EXPECT_FALSE(Measurement::make({}, {1}, 0).has_value());
  EXPECT_FALSE(Measurement::make({}, {1, -1}, 1).has_value());
  EXPECT_FALSE(Measurement::make({}, {std::nan("")}, 1).has_value());
  EXPECT_FALSE(Measurement::make({}, {std::numeric_limits<double>::infinity()}, 1).has_value());
  EXPECT_EQ(Measurement::make({}, {}, 1).error().code, ErrorCode::kInvalidArgument);
}

TEST(Measurement, WarnsFromATenthAndFromAQuarter) {
  // Five values around 100: the IQR is the distance of the second and the fourth.
  EXPECT_TRUE(measured({}, {80, 95.1, 100, 105, 200}).warnings().empty());
  const std::vector<std::string> mild = measured({}, {80, 95, 100, 105, 200}).warnings();
  ASSERT_EQ(mild.size(), 1U);
  EXPECT_EQ(mild[0], "The IQR is 10.0 % of the median: the times fluctuate.");
  const std::vector<std::string> gross = measured({}, {80, 90, 100, 115, 200}).warnings();
  ASSERT_EQ(gross.size(), 1U);
  EXPECT_EQ(gross[0], "The IQR is 25.0 % of the median: something beside the code decides these times.");
  EXPECT_TRUE(measured({}, {1}, 1, {"The clock stood still."}).has_warnings());
  EXPECT_TRUE(measured({}, {0, 0, 0, 5}).has_warnings()) << "a median of 0 with a spread";
}

TEST(Measurement, AsText) {
  TaskSpec task = labelled("Broadcasting add", "4x8");
  task.setup = "x = ones(4, 8)";
  EXPECT_EQ(measured(task, {401e3, 573e3, 626e3, 440e3, 610e3}, 100).to_string(),
            "Broadcasting add: 4x8\n"
            "setup: x = ones(4, 8)\n"
            "  Median: 5.73 us\n"
            "  IQR:    1.70 us (4.40 to 6.10)\n"
            "  5 measurements, 100 runs each, 1 thread\n"
            "  WARNING: The IQR is 29.7 % of the median: something beside the code decides\n"
            "           these times.");
}

TEST(Measurement, AsTextWithFewTimesHasNoIqr) {
  TaskSpec task;
  task.statement = "a();\nb();";
  task.sub_label = "small";
  task.description = "v2";
  task.env = "branch";
  task.setup = "int x;\nint y;";
  task.num_threads = 4;
  EXPECT_EQ(
      measured(task, {2.5e9}).to_string(),
      "a();\nb();\n(small)\nv2\nenv: branch\nsetup:\n  int x;\n  int y;\n  2.50 s\n  1 measurement, 1 run, 4 threads");
  EXPECT_EQ(measured({}, {4, 4, 4.1}, 10).to_string(), "  Median: 0.40 ns\n  3 measurements, 10 runs each, 1 thread");
}

TEST(Measurement, UnitsNeverShowAThousand) {
  TaskSpec task;
  task.num_threads = 0;
  EXPECT_EQ(measured(task, {999.994}).to_string(), "  999.99 ns\n  1 measurement, 1 run");
  EXPECT_EQ(measured(task, {999.996}).to_string(), "  1.00 us\n  1 measurement, 1 run");
  EXPECT_EQ(measured(task, {999'996'000}).to_string(), "  1.00 s\n  1 measurement, 1 run");
  EXPECT_EQ(measured(task, {5e12}).to_string(), "  5000.00 s\n  1 measurement, 1 run");
  EXPECT_EQ(measured(task, {0}).to_string(), "  0.00 ns\n  1 measurement, 1 run");
}

TEST(Measurement, MergePutsRepetitionsTogether) {
  const std::vector<Measurement> merged = merge_measurements(
      {measured(labelled("a"), {1000, 2000}, 10, {"note 1"}), measured(labelled("b"), {7}),
       measured(labelled("a"), {300}, 1, {"note 1", "note 2"}), measured(labelled("a", "other"), {9})});
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_EQ(merged[0].task().label, "a");
  EXPECT_EQ(merged[0].number_per_run(), 1);
  EXPECT_EQ(merged[0].times_ns(), (std::vector<double>{100, 200, 300}));
  EXPECT_EQ(merged[0].notes(), (std::vector<std::string>{"note 1", "note 2"}));
  EXPECT_EQ(merged[1].task().label, "b");
  EXPECT_EQ(merged[2].task().sub_label, "other");
  EXPECT_TRUE(merge_measurements({}).empty());
}

TEST(Measurement, MergeLeavesWhatIsAloneAsItIs) {
  const std::vector<Measurement> merged = merge_measurements({measured(labelled("a"), {1000, 2000}, 10)});
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_EQ(merged[0].number_per_run(), 10);
}

}  // namespace
}  // namespace stepscope

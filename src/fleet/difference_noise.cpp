// Units are runs where a side has several, else steps, or blocks of steps where neighbours are alike.
#include "fleet/difference_noise.h"

#include <algorithm>
#include <cmath>

#include "stats/bootstrap.h"
#include "stats/distributions.h"

namespace stepscope {
namespace {

constexpr std::size_t kFewestUnits = 2;
constexpr std::size_t kFewUnits = 6;  // below it: the sides must lie apart

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Of the population that the values were drawn from.
double variance_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

// Means of blocks of neighbours, so that each is one draw; the values themselves where blocks would be too few.
std::vector<double> units_of_run(const std::vector<double>& steps) {
  const std::size_t block = steps.size() < kFewUnits ? 1 : choose_block_length(steps);
  if (block <= 1 || steps.size() / block < kFewUnits) return steps;
  std::vector<double> units;
  for (std::size_t at = 0; at + block <= steps.size(); at += block) {
    units.push_back(mean_of(std::span(steps).subspan(at, block)));
  }
  return units;
}

std::vector<double> units_of(const PartSeries& series, bool are_runs) {
  std::vector<double> units;
  for (const std::vector<double>& run : series) {
    if (run.empty()) continue;
    if (!are_runs) return units_of_run(run);
    units.push_back(mean_of(run));
  }
  return units;
}

bool are_apart(std::span<const double> before, std::span<const double> after) {
  const auto [before_least, before_greatest] = std::minmax_element(before.begin(), before.end());
  const auto [after_least, after_greatest] = std::minmax_element(after.begin(), after.end());
  return *before_greatest < *after_least || *after_greatest < *before_least;
}

// Standard error of the difference and its degrees of freedom.
struct Scatter {
  double error = 0;
  std::int64_t freedom_count = 1;
};

Scatter welch(std::span<const double> before, std::span<const double> after) {
  const double first = variance_of(before) / static_cast<double>(before.size());
  const double second = variance_of(after) / static_cast<double>(after.size());
  const double whole = first + second;
  if (!(whole > 0)) return {0, static_cast<std::int64_t>(before.size() + after.size() - 2)};
  const double freedom = whole * whole /
                         (first * first / static_cast<double>(before.size() - 1) +
                          second * second / static_cast<double>(after.size() - 1));
  return {std::sqrt(whole), std::max<std::int64_t>(1, static_cast<std::int64_t>(freedom))};
}

// One new run against several old ones, or few values on both sides: their scatter is taken to be one. Welch's way
// would leave 2 degrees of freedom to 3 values a side, and tell nothing at any size.
Scatter pooled(std::span<const double> before, std::span<const double> after) {
  const double mean_before = mean_of(before), mean_after = mean_of(after);
  double squares = 0;
  for (const double value : before) squares += (value - mean_before) * (value - mean_before);
  for (const double value : after) squares += (value - mean_after) * (value - mean_after);
  const auto freedom = static_cast<std::int64_t>(before.size() + after.size()) - 2;
  const double variance = squares / static_cast<double>(freedom);
  return {std::sqrt(variance * (1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size()))),
          freedom};
}

std::size_t run_count(const PartSeries& series) {
  return static_cast<std::size_t>(
      std::count_if(series.begin(), series.end(), [](const std::vector<double>& run) { return !run.empty(); }));
}

}  // namespace

double mean_of_runs(const PartSeries& series) { return mean_of(units_of(series, true)); }

PartJudgement judge_part(const PartSeries& before, const PartSeries& after, const NoiseOptions& options) {
  const std::size_t runs_before = run_count(before), runs_after = run_count(after);
  const bool are_runs = runs_before > 1 || runs_after > 1;
  const std::vector<double> first = units_of(before, are_runs), second = units_of(after, are_runs);
  const std::size_t fewest = std::min(first.size(), second.size());
  if (fewest == 0 || first.size() + second.size() < 3 || (!are_runs && fewest < kFewestUnits)) return {};
  const double tail =
      (1 - options.confidence_ratio) / 2 / static_cast<double>(std::max<std::size_t>(options.judged_together_count, 1));
  const Scatter scatter = fewest < kFewUnits ? pooled(first, second) : welch(first, second);
  double noise = student_quantile(1 - tail, scatter.freedom_count) * scatter.error;
  const double mean_before = mean_of_runs(before), mean_after = mean_of_runs(after);
  if (!are_runs) {
    noise =
        std::hypot(noise, normal_quantile(1 - tail) * options.between_runs_ratio * std::hypot(mean_before, mean_after));
  }
  if (!std::isfinite(noise)) return {};
  const double difference = std::abs(mean_after - mean_before);
  return {noise, difference > noise && (fewest >= kFewUnits || are_apart(first, second))};
}

}  // namespace stepscope

// Two passes over the sample for the standard deviation: the one-pass formula (mean of squares minus square of the
// mean) loses every figure when times of seconds differ by nanoseconds.
#include "stats/spread.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr double kZScore = 1.645;  // of a two-sided 90 % interval
constexpr int kMostFigures = 4;    // what a reader can use; no clock of a busy machine gives more

}  // namespace

std::optional<double> mean(std::span<const double> sample) {
  if (sample.empty()) return std::nullopt;
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

std::optional<double> population_std(std::span<const double> sample) {
  const std::optional<double> middle = mean(sample);
  if (!middle) return std::nullopt;
  double squares = 0;
  for (const double value : sample) squares += (value - *middle) * (value - *middle);
  return std::sqrt(squares / static_cast<double>(sample.size()));
}

std::optional<double> iqr(std::span<const double> sample) {
  if (sample.empty()) return std::nullopt;
  return *quantile(sample, 0.75) - *quantile(sample, 0.25);
}

std::optional<double> sorted_quantile(std::span<const double> sorted, double q) {
  return quantile_by_rank(sorted.size(), q, [sorted](std::size_t rank) { return sorted[rank]; });
}

bool spread_is_under(double low, double median, double high, double ratio) {
  const double spread = high - low;
  return spread == 0 || spread < ratio * median;
}

bool spread_is_under(std::span<const double> sorted, double ratio) {
  if (sorted.empty()) return false;
  return spread_is_under(*sorted_quantile(sorted, 0.25), *sorted_quantile(sorted, 0.5), *sorted_quantile(sorted, 0.75),
                         ratio);
}

std::optional<int> significant_figures(std::span<const double> sample, double least_interval) {
  if (sample.empty()) return std::nullopt;
  std::vector<double> sorted(sample.begin(), sample.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  const std::size_t from = count / 4;
  const std::size_t to = (3 * count + 3) / 4;
  const auto middle = std::span<const double>(sorted).subspan(from, to - from);
  const double interval =
      std::max(kZScore * *population_std(middle) / std::sqrt(static_cast<double>(middle.size())), least_interval);
  const double median = *sorted_quantile(sorted, 0.5);
  if (!(median > 0)) return 1;
  if (!(interval > 0)) return kMostFigures;
  return static_cast<int>(std::clamp(std::floor(std::log10(median / interval)), 1.0, double{kMostFigures}));
}

}  // namespace stepscope

// Drift by Spearman's correlation with the order, two modes by Hartigan's dip.
#include "stats/sample_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/bootstrap.h"
#include "stats/dip.h"
#include "stats/distributions.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

constexpr std::size_t kLeastValues = 10;  // fewer could hardly reach significance at 1 %
constexpr double kFalseAlarmRatio = 0.01;

bool differs(double low, double high, double least_ratio) { return high - low >= least_ratio * std::fabs(low); }

// Spearman's rank correlation of the values with their places.
double order_correlation(std::span<const double> sample) {
  const std::vector<double> ranks = rank_values(sample);
  const double mean = (static_cast<double>(ranks.size()) + 1) / 2;
  double together = 0, ranks_alone = 0, places_alone = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double rank = ranks[i] - mean, place = static_cast<double>(i) + 1 - mean;
    together += rank * place;
    ranks_alone += rank * rank;
    places_alone += place * place;
  }
  return ranks_alone > 0 ? together / std::sqrt(ranks_alone * places_alone) : 0;
}

std::optional<Drift> find_drift(std::span<const double> sample, double least_ratio) {
  if (sample.size() < kLeastValues) return std::nullopt;
  const double correlation = order_correlation(sample);
  // r * sqrt((n - 2) / (1 - r^2)) follows Student's t with n - 2 degrees of freedom when there is no drift.
  const auto freedom = static_cast<double>(sample.size() - 2);
  const double t = std::fabs(correlation) * std::sqrt(freedom / std::max(1 - correlation * correlation, 1e-12));
  if (t < student_quantile(1 - kFalseAlarmRatio / 2, static_cast<std::int64_t>(freedom))) return std::nullopt;
  const std::size_t third = sample.size() / 3;
  const Drift drift{*quantile(sample.first(third), 0.5), *quantile(sample.last(third), 0.5)};
  const auto [low, high] = std::minmax(drift.first_median, drift.last_median);
  return differs(low, high, least_ratio) ? std::optional(drift) : std::nullopt;
}

// Where to cut so that the two parts are as tight as possible (least sum of squares): the number of values below.
std::size_t find_cut(std::span<const double> sorted) {
  const auto n = static_cast<double>(sorted.size());
  double total = 0;
  for (const double value : sorted) total += value;
  double below = 0, best = -1;
  std::size_t cut = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    below += sorted[i - 1];
    const auto count = static_cast<double>(i);
    const double apart = below / count - (total - below) / (n - count);
    const double between = count * (n - count) * apart * apart;
    if (between > best) {
      best = between;
      cut = i;
    }
  }
  return cut;
}

std::optional<TwoModes> find_two_modes(std::span<const double> sample, const FarValues& far_values,
                                       double least_ratio) {
  std::vector<double> sorted;
  for (const double value : sample) {
    if (value >= far_values.low_fence && value <= far_values.high_fence) sorted.push_back(value);
  }
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() < kLeastValues) return std::nullopt;
  // A clock that ticks coarsely makes a mode at each tick; the test is for values that hardly ever repeat.
  std::vector<double> distinct = sorted;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() * 2 < sorted.size()) return std::nullopt;
  if (!is_dip_significant(compute_dip(sorted), sorted.size())) return std::nullopt;
  const std::span<const double> all(sorted);
  const std::size_t cut = find_cut(all);
  const TwoModes modes{*quantile(all.first(cut), 0.5), *quantile(all.subspan(cut), 0.5),
                       static_cast<double>(cut) / static_cast<double>(sorted.size())};
  return differs(modes.low_median, modes.high_median, least_ratio) ? std::optional(modes) : std::nullopt;
}

std::optional<SlowStart> find_slow_start(std::span<const double> sample, double least_ratio) {
  if (sample.size() < 2) return std::nullopt;
  const std::span<const double> rest = sample.subspan(1);
  const FarValues far_values = find_far_values(rest);
  const double greatest = *std::max_element(rest.begin(), rest.end());
  const SlowStart start{sample.front(), *quantile(rest, 0.5)};
  const bool is_slow = start.first > greatest && start.first > far_values.high_fence;
  return is_slow && differs(start.rest_median, start.first, least_ratio) ? std::optional(start) : std::nullopt;
}

}  // namespace

FarValues find_far_values(std::span<const double> sample) {
  FarValues far_values{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), {}};
  if (sample.size() < 4) return far_values;  // a quartile needs four parts
  const double low = *quantile(sample, 0.25), high = *quantile(sample, 0.75);
  far_values.low_fence = low - 3 * (high - low);
  far_values.high_fence = high + 3 * (high - low);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (sample[i] < far_values.low_fence || sample[i] > far_values.high_fence) far_values.places.push_back(i);
  }
  return far_values;
}

SampleChecks check_sample(std::span<const double> sample, double least_ratio) {
  SampleChecks checks;
  checks.far_values = find_far_values(sample);
  checks.drift = find_drift(sample, least_ratio);
  checks.two_modes = find_two_modes(sample, checks.far_values, least_ratio);
  checks.slow_start = find_slow_start(sample, least_ratio);
  return checks;
}

}  // namespace stepscope

// How far a sample lies apart: mean, standard deviation, interquartile range, and how many figures of its median count.
//
// Percentiles interpolate as quantiles.h says, so that every number agrees with what users compute with numpy. All
// values have to be finite (a NaN has no order); whoever lets samples in checks that once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace stepscope {

// Missing for an empty sample.
[[nodiscard]] std::optional<double> mean(std::span<const double> sample);
// Of the sample itself (divided by n, numpy.std's default), not the estimate for what it was drawn from.
[[nodiscard]] std::optional<double> population_std(std::span<const double> sample);
// 75th minus 25th percentile.
[[nodiscard]] std::optional<double> iqr(std::span<const double> sample);

// quantile() of `size` values of which value_of(rank) gives one by its place in their order, from 0.
template <class ValueOf>
[[nodiscard]] std::optional<double> quantile_by_rank(std::size_t size, double q, const ValueOf& value_of) {
  if (size == 0) return std::nullopt;
  const double at = q * static_cast<double>(size - 1);
  const auto low = static_cast<std::size_t>(at);
  const double part = at - static_cast<double>(low);
  const double first = value_of(low);
  if (part <= 0 || low + 1 >= size) return first;
  return first + part * (value_of(low + 1) - first);
}
// quantile() of values that are sorted already: no copy, constant time.
[[nodiscard]] std::optional<double> sorted_quantile(std::span<const double> sorted, double q);

// IQR / median < ratio, of the 25th, 50th and 75th percentile. No spread is under every ratio.
[[nodiscard]] bool spread_is_under(double low, double median, double high, double ratio);
// The same of values that are sorted already. An empty sample is under none.
[[nodiscard]] bool spread_is_under(std::span<const double> sorted, double ratio);

// How many figures of the median mean something, 1 to 4: floor(log10(median / interval)), where the interval is
// 1.645 * std / sqrt(n) of the sorted middle half [n / 4, ceil(3 n / 4)) and at least `least_interval`, what the clock
// can tell apart at all. Rough on purpose: the middle half shrugs off a tail, 1.645 is the normal distribution's 90 %.
// A median of 0 or less has 1. Missing for an empty sample.
[[nodiscard]] std::optional<int> significant_figures(std::span<const double> sample, double least_interval);

}  // namespace stepscope

// Quantiles by selection: O(n), the sample is copied once.
#include "stats/quantiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepscope {
namespace {

template <class T>
std::optional<double> interpolate(std::vector<T> sorted, double q) {
  if (sorted.empty()) return std::nullopt;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(low), sorted.end());
  const T first = sorted[low];
  const double part = at - static_cast<double>(low);
  if (part <= 0 || low + 1 >= sorted.size()) return static_cast<double>(first);
  const T second = *std::min_element(sorted.begin() + static_cast<std::ptrdiff_t>(low) + 1, sorted.end());
  return static_cast<double>(first) + part * (static_cast<double>(second) - static_cast<double>(first));
}

}  // namespace

std::optional<double> quantile(std::span<const double> sample, double q) {
  return interpolate(std::vector<double>(sample.begin(), sample.end()), q);
}

std::optional<std::int64_t> quantile_ns(std::span<const std::int64_t> sample, double q) {
  if (sample.empty()) return std::nullopt;
  // Distances from the least value keep 53 bits of a double enough for times since 1970. They are unsigned: two values
  // may lie further apart than an int64 reaches.
  const auto base = static_cast<std::uint64_t>(*std::min_element(sample.begin(), sample.end()));
  std::vector<std::uint64_t> shifted(sample.begin(), sample.end());
  for (std::uint64_t& each : shifted) each -= base;
  const double found = std::round(*interpolate(std::move(shifted), q));
  constexpr double kTwoTo64 = 18446744073709551616.0;
  const std::uint64_t distance =
      found < kTwoTo64 ? static_cast<std::uint64_t>(found) : std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::int64_t>(base + distance);
}

}  // namespace stepscope

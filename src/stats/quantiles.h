// Order statistics of small samples: median, percentiles with linear interpolation, IQR.
//
// Linear interpolation between closest ranks (the default of numpy.percentile), so that numbers agree with what
// users compute themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

// q in [0, 1]. Missing for an empty sample. Integers round half away from zero.
[[nodiscard]] std::optional<double> quantile(std::span<const double> sample, double q);
[[nodiscard]] std::optional<std::int64_t> quantile_ns(std::span<const std::int64_t> sample, double q);
[[nodiscard]] inline std::optional<std::int64_t> median_ns(std::span<const std::int64_t> sample) {
  return quantile_ns(sample, 0.5);
}

}  // namespace stepscope

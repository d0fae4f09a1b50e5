// Medians by selection and differences that cannot overflow, for numbers that come from files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stepscope {

// The element at (n - 1) / 2 of the sorted values, 0 for none; reorders them. The lower of two, so that of two ranks
// the faster is the typical one, and always a value that was measured. Over steps of one rank: median_ns of
// stats/quantiles.h, as in that rank's own report.
template <class Value>
[[nodiscard]] Value lower_median(std::vector<Value>& values) {
  if (values.empty()) return Value{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Wraps around instead of being undefined.
[[nodiscard]] inline std::int64_t minus_ns(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
[[nodiscard]] inline std::int64_t plus_ns(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace stepscope

// Which of a run's steps took far longer than the others: one rule for every place that says so.
//
// An outlier takes at least 1.5 times the median of the others, where "the others" leave out the longest one, so that
// an outlier in a short run does not hide itself. Why 1.5: healthy recordings with a noisy host reach 1.38, planted
// faults 10 and more. A multiple of the IQR was rejected: steps of a quiet GPU differ by 0.1 %, so the IQR would call a
// step that lasts 1 % longer an outlier, which nobody can use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stepscope {

inline constexpr double kOutlierRatio = 1.5;
// Of two steps nobody can say which one is the rule.
inline constexpr std::size_t kFewestForOutliers = 3;

struct Outliers {
  std::int64_t typical_ns = 0;       // median of all but the longest; 0 with fewer than kFewestForOutliers
  std::size_t longest = 0;           // index of the longest, also when it is no outlier
  std::vector<std::size_t> indices;  // of the outliers, in their order; empty: none
};

// Those before `first` are never outliers, though they count among the others: a profiler distorts the first step that
// it records.
[[nodiscard]] Outliers find_outliers(std::span<const std::int64_t> lengths_ns, std::size_t first = 0);

}  // namespace stepscope

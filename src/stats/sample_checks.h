// What in a sample of times makes its median say less than it seems to: values far out, a slow start, drift, two modes.
//
// None of them changes a number: medians bear them, and a value that was measured is never thrown away. They are
// facts for a warning; the words, with units, are written where the sample is shown.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

// Values outside Tukey's outer fences, 3 interquartile ranges beyond the quartiles: 2 of a million of a normal
// distribution lie there, 9 of a thousand of an exponential one. The inner fences (1.5) would name 1 of 20 exponential
// values, and 3.5 median deviations 1 of 25; run times are often that skewed. Not the same as an outlier step
// (stats/outliers.h), which is judged by what it costs and not by how rare it is.
struct FarValues {
  double low_fence = 0;
  double high_fence = 0;
  std::vector<std::size_t> places;  // in the sample, ascending
};
[[nodiscard]] FarValues find_far_values(std::span<const double> sample);

// The time went up or down in the course of the sample.
struct Drift {
  double first_median = 0;  // of the first third
  double last_median = 0;   // of the last third
};

// Two groups of values and a dip between them.
struct TwoModes {
  double low_median = 0;
  double high_median = 0;
  double low_ratio = 0;  // share of the values in the lower group
};

// The first value is far above all others: something was cold.
struct SlowStart {
  double first = 0;
  double rest_median = 0;
};

struct SampleChecks {
  FarValues far_values;
  std::optional<Drift> drift;
  std::optional<TwoModes> two_modes;
  std::optional<SlowStart> slow_start;
};

// `sample` in the order in which it was taken. Drift and two modes are looked for from 10 values on, are wrong in 1 of
// 100 samples without any (of independent values), and are told only where the groups differ by at least `least_ratio`
// of the lower median: a smaller one does not matter to who asks for 1 %.
[[nodiscard]] SampleChecks check_sample(std::span<const double> sample, double least_ratio = 0.01);

}  // namespace stepscope

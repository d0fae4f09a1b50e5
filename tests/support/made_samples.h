// Samples with known truths for tests of the statistics: draws of distributions, from a seed.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "stats/random.h"

namespace stepscope {

inline double draw_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

// Median 1; `spread` is the standard deviation of the logarithm: 0.3 is well skewed.
inline double draw_lognormal(Random& random, double spread) { return std::exp(spread * draw_normal(random)); }

// At least 1, median 1 + 0.1 ln 2: a floor with a long tail, as run times have it.
inline double draw_tailed(Random& random) { return 1 - 0.1 * std::log(1 - random.unit()); }
inline const double kTailedMedian = 1 + 0.1 * std::numbers::ln2;

template <class Draw>
std::vector<double> draw_sample(std::size_t count, Draw&& draw) {
  std::vector<double> sample(count);
  for (double& value : sample) value = draw();
  return sample;
}

// Steps of a run whose neighbours are alike: a first-order autoregression around `median`, standard deviation `spread`.
inline std::vector<double> draw_steps(Random& random, std::size_t count, double median, double spread,
                                      double likeness) {
  std::vector<double> steps(count);
  double state = draw_normal(random);
  for (double& step : steps) {
    step = median * (1 + spread * state);
    state = likeness * state + std::sqrt(1 - likeness * likeness) * draw_normal(random);
  }
  return steps;
}

}  // namespace stepscope

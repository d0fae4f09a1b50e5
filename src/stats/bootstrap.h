// How well a median is known: intervals by resampling, without assuming a distribution.
//
// Run times are skewed and have outliers, so the median is what is compared; how far it may be off is found by drawing
// samples of the same size out of the sample, with replacement, and looking at their medians (Efron's bootstrap).
//
// Which ends to take was measured (bench/interval_coverage.cpp; docs/performance.md has the table):
//  - of one median: the plain percentiles are too narrow for small samples (87 % instead of 95 % at 7 values), so they
//    are taken further out by the factor that Student's t has over the normal distribution, times sqrt(n / (n - 1)):
//    Hesterberg's "expanded percentile" interval. It covers 95 to 98.5 % from 6 values on.
//  - of a ratio of two independent medians: plain percentiles cover 96 to 97 % already. With blocks they would cover
//    88 % where neighbours are much alike (lag-1 correlation 0.8, 200 steps), so there the ends move out too.
// BCa was rejected: its acceleration comes from a jackknife, which is inconsistent for a median. Formulas with a
// density estimate were rejected because step times often have two modes.
//
// The same input gives the same interval everywhere (stats/random.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

struct ConfidenceInterval {
  double low = 0;
  double high = 0;
};

struct BootstrapOptions {
  double confidence_ratio = 0.95;
  // Monte Carlo error of an end at 10,000: 0.16 % of probability. Long samples get fewer, at least 1,000, so that no
  // call takes more than about 0.2 s.
  std::size_t resample_count = 10'000;
  std::uint64_t seed = 1;
  // Neighbours that are drawn together; more than 1 keeps the likeness of neighbouring steps (see
  // choose_block_length). The sample is closed to a circle, so that every value is drawn equally often.
  std::size_t block_length = 1;
};

// The fewest values whose median can be enclosed at this confidence by anything inside the sample: from least to
// greatest covers it with 1 - 2^(1-n). 6 at 95 %, 8 at 99 %.
[[nodiscard]] std::size_t least_sample_count(double confidence_ratio);

// Missing when there are fewer than least_sample_count values, or blocks of values.
[[nodiscard]] std::optional<ConfidenceInterval> bootstrap_median(std::span<const double> sample,
                                                                 const BootstrapOptions& options);

// median(other) / median(base); all values are above 0. `base_block` and `other_block` stand for options.block_length.
[[nodiscard]] std::optional<ConfidenceInterval> bootstrap_median_ratio(std::span<const double> base,
                                                                       std::span<const double> other,
                                                                       const BootstrapOptions& options,
                                                                       std::size_t base_block = 1,
                                                                       std::size_t other_block = 1);

// How far out the ends of bootstrap_median lie, in standard errors: 1.96 for a large sample at 95 %.
[[nodiscard]] double expanded_quantile(double confidence_ratio, std::size_t sample_count);

// The block length for a sample in the order in which it was taken: the optimum for a first-order autoregression
// (Politis and White 2004), b = (6 r^2 / (1 - r^2)^2 * n)^(1/3), with r the lag-1 autocorrelation of the ranks, which
// outliers cannot bend. 1 when neighbours are not alike.
[[nodiscard]] std::size_t choose_block_length(std::span<const double> sample);

// Ranks from 1, equal values share their mean rank.
[[nodiscard]] std::vector<double> rank_values(std::span<const double> sample);

}  // namespace stepscope

// One function for each unit; all end in judge().
#include "stats/compare_samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/distributions.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

bool is_time(double value) { return std::isfinite(value) && value > 0; }

std::vector<RunTimes> clean_runs(std::span<const RunTimes> runs) {
  std::vector<RunTimes> kept;
  for (const RunTimes& run : runs) {
    RunTimes clean;
    std::copy_if(run.begin(), run.end(), std::back_inserter(clean), is_time);
    if (!clean.empty()) kept.push_back(std::move(clean));
  }
  return kept;
}

std::vector<double> medians_of(const std::vector<RunTimes>& runs) {
  std::vector<double> medians;
  medians.reserve(runs.size());
  for (const RunTimes& run : runs) medians.push_back(*quantile(run, 0.5));
  return medians;
}

std::size_t fewest_steps(const std::vector<RunTimes>& runs) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const RunTimes& run : runs) fewest = std::min(fewest, run.size());
  return fewest;
}

std::string count_words(std::int64_t count, const char* singular) {
  return std::to_string(count) + " " + singular + (count == 1 ? "" : "s");
}

Comparison too_few(Comparison comparison, const char* unit, std::size_t needed) {
  const std::int64_t fewest = std::min(comparison.base_count, comparison.other_count);
  comparison.verdict = CompareVerdict::kTooFew;
  comparison.reason = count_words(fewest, unit) + "; " + std::to_string(needed) + " are needed to tell anything";
  return comparison;
}

// `quantiles`: how many standard errors the ends lie from the ratio.
Comparison judge(Comparison comparison, ConfidenceInterval interval, double quantiles, const CompareOptions& options) {
  comparison.interval = interval;
  comparison.standard_error = std::log(interval.high / interval.low) / 2 / quantiles;
  const double tolerance = 1 + std::max(options.tolerance_ratio, 0.0);
  comparison.verdict = CompareVerdict::kNoDifference;
  if (interval.low > 1 && *comparison.ratio > tolerance) comparison.verdict = CompareVerdict::kSlower;
  if (interval.high < 1 && *comparison.ratio < 1 / tolerance) comparison.verdict = CompareVerdict::kFaster;
  return comparison;
}

BootstrapOptions bootstrap_options(const CompareOptions& options) {
  return {options.confidence_ratio, options.resample_count, options.seed, 1};
}

double normal_reach(const CompareOptions& options) { return normal_quantile(0.5 + options.confidence_ratio / 2); }

Comparison resample_runs(Comparison comparison, std::span<const double> base, std::span<const double> other,
                         const CompareOptions& options) {
  const auto interval = bootstrap_median_ratio(base, other, bootstrap_options(options));
  if (!interval) return too_few(std::move(comparison), "run", least_sample_count(options.confidence_ratio));
  return judge(std::move(comparison), *interval, normal_reach(options), options);
}

// Student's t on logarithms, so that the interval is one of a ratio.
struct LogDifference {
  double middle = 0, error = 0, reach = 0;
  [[nodiscard]] ConfidenceInterval interval() const {
    return {std::exp(middle - reach * error), std::exp(middle + reach * error)};
  }
};

// With the variance of both sides together.
LogDifference subtract_logarithms(std::span<const double> base, std::span<const double> other,
                                  double confidence_ratio) {
  double squares = 0;
  std::vector<double> means;
  for (const std::span<const double> side : {base, other}) {
    double sum = 0;
    for (const double median : side) sum += std::log(median);
    const double mean = sum / static_cast<double>(side.size());
    for (const double median : side) squares += (std::log(median) - mean) * (std::log(median) - mean);
    means.push_back(mean);
  }
  const auto freedom = static_cast<std::int64_t>(base.size() + other.size()) - 2;
  const double error = std::sqrt(squares / static_cast<double>(freedom) *
                                 (1 / static_cast<double>(base.size()) + 1 / static_cast<double>(other.size())));
  return {means[1] - means[0], error, student_quantile(0.5 + confidence_ratio / 2, freedom)};
}

Comparison compare_few_runs(Comparison comparison, std::span<const double> base, std::span<const double> other,
                            const CompareOptions& options) {
  const LogDifference difference = subtract_logarithms(base, other, options.confidence_ratio);
  comparison.ratio = std::exp(difference.middle);
  return judge(std::move(comparison), difference.interval(), difference.reach, options);
}

// The interval of the steps with the known noise between runs added, as variances add.
ConfidenceInterval widen(ConfidenceInterval interval, double ratio, double between_runs, double reach) {
  const double added = reach * between_runs * std::sqrt(2.0);
  const double below = std::hypot(std::log(ratio / interval.low), added);
  const double above = std::hypot(std::log(interval.high / ratio), added);
  return {ratio * std::exp(-below), ratio * std::exp(above)};
}

bool are_apart(std::span<const double> base, std::span<const double> other) {
  const auto [base_least, base_greatest] = std::minmax_element(base.begin(), base.end());
  const auto [other_least, other_greatest] = std::minmax_element(other.begin(), other.end());
  return *base_greatest < *other_least || *other_greatest < *base_least;
}

constexpr std::size_t kFewestValues = 3;

// The ratio stays that of the medians, which are what is shown; the interval is made to hold it.
Comparison compare_few_values(Comparison comparison, std::span<const double> base, std::span<const double> other,
                              const CompareOptions& options) {
  comparison.is_of_few_values = true;
  const LogDifference difference = subtract_logarithms(base, other, options.confidence_ratio);
  ConfidenceInterval interval = difference.interval();
  interval = {std::min(interval.low, *comparison.ratio), std::max(interval.high, *comparison.ratio)};
  if (options.between_runs_ratio && comparison.unit == CompareUnit::kSteps) {
    interval = widen(interval, *comparison.ratio, *options.between_runs_ratio, normal_reach(options));
    comparison.sees_noise_between_runs = true;
  }
  if (!are_apart(base, other)) {
    interval = {std::min(interval.low, 1.0), std::max(interval.high, 1.0)};
  }
  return judge(std::move(comparison), interval, difference.reach, options);
}

Comparison compare_steps(Comparison comparison, const RunTimes& base, const RunTimes& other,
                         const CompareOptions& options) {
  comparison.unit = CompareUnit::kSteps;
  comparison.base_count = static_cast<std::int64_t>(base.size());
  comparison.other_count = static_cast<std::int64_t>(other.size());
  const std::size_t needed = least_sample_count(options.confidence_ratio);
  if (const std::size_t fewest = std::min(base.size(), other.size()); fewest < needed) {
    if (!options.few_values) return too_few(std::move(comparison), "step", needed);
    if (fewest < kFewestValues) return too_few(std::move(comparison), "step", kFewestValues);
    return compare_few_values(std::move(comparison), base, other, options);
  }
  const std::size_t base_block = choose_block_length(base), other_block = choose_block_length(other);
  auto interval = bootstrap_median_ratio(base, other, bootstrap_options(options), base_block, other_block);
  if (!interval && options.few_values) return compare_few_values(std::move(comparison), base, other, options);
  if (!interval) {
    comparison.reason = "the steps drift or come in long waves, so that they count as fewer than " +
                        std::to_string(needed) + " independent ones";
    return comparison;
  }
  const std::size_t blocks = std::min(base.size() / base_block, other.size() / other_block);
  const double reach = std::max(base_block, other_block) > 1 ? expanded_quantile(options.confidence_ratio, blocks)
                                                             : normal_reach(options);
  if (options.between_runs_ratio) {
    interval = widen(*interval, *comparison.ratio, *options.between_runs_ratio, reach);
    comparison.sees_noise_between_runs = true;
  }
  return judge(std::move(comparison), *interval, reach, options);
}

Comparison describe_sides(std::span<const double> base, std::span<const double> other) {
  Comparison comparison;
  comparison.base_count = static_cast<std::int64_t>(base.size());
  comparison.other_count = static_cast<std::int64_t>(other.size());
  comparison.base_median = quantile(base, 0.5);
  comparison.other_median = quantile(other, 0.5);
  if (comparison.base_median && comparison.other_median) {
    comparison.ratio = *comparison.other_median / *comparison.base_median;
  }
  return comparison;
}

}  // namespace

Comparison compare_samples(std::span<const RunTimes> base, std::span<const RunTimes> other,
                           const CompareOptions& options) {
  const std::vector<RunTimes> base_runs = clean_runs(base), other_runs = clean_runs(other);
  const std::vector<double> base_medians = medians_of(base_runs), other_medians = medians_of(other_runs);
  Comparison comparison = describe_sides(base_medians, other_medians);
  const std::size_t needed = least_sample_count(options.confidence_ratio);
  const std::size_t fewest = std::min(base_runs.size(), other_runs.size());
  if (fewest == 0) return too_few(std::move(comparison), "run", needed);
  if (base_runs.size() == 1 && other_runs.size() == 1) {
    return compare_steps(std::move(comparison), base_runs.front(), other_runs.front(), options);
  }
  comparison.sees_noise_between_runs = true;
  if (fewest >= needed) return resample_runs(std::move(comparison), base_medians, other_medians, options);
  // A median of several steps is near enough to normal for Student's t; a single time of a whole run is not.
  if (std::min(fewest_steps(base_runs), fewest_steps(other_runs)) < needed) {
    if (options.few_values && fewest >= kFewestValues) {
      return compare_few_values(std::move(comparison), base_medians, other_medians, options);
    }
    return too_few(std::move(comparison), "run", options.few_values ? kFewestValues : needed);
  }
  return compare_few_runs(std::move(comparison), base_medians, other_medians, options);
}

Comparison compare_pairs(std::span<const double> base, std::span<const double> other, const CompareOptions& options) {
  std::vector<double> base_kept, other_kept, differences;
  for (std::size_t i = 0; i < std::min(base.size(), other.size()); ++i) {
    if (!is_time(base[i]) || !is_time(other[i])) continue;
    base_kept.push_back(base[i]);
    other_kept.push_back(other[i]);
    differences.push_back(std::log(other[i]) - std::log(base[i]));
  }
  Comparison comparison = describe_sides(base_kept, other_kept);
  comparison.unit = CompareUnit::kPairs;
  comparison.sees_noise_between_runs = true;
  if (const auto middle = quantile(differences, 0.5)) comparison.ratio = std::exp(*middle);
  const auto interval = bootstrap_median(differences, bootstrap_options(options));
  if (!interval) return too_few(std::move(comparison), "pair", least_sample_count(options.confidence_ratio));
  return judge(std::move(comparison), {std::exp(interval->low), std::exp(interval->high)},
               expanded_quantile(options.confidence_ratio, differences.size()), options);
}

std::optional<std::int64_t> units_to_tell(const Comparison& comparison, double effect_ratio, double confidence_ratio) {
  constexpr double kPower = 0.8;
  if (!comparison.standard_error || effect_ratio <= 0) return std::nullopt;
  const double reach = normal_quantile(0.5 + confidence_ratio / 2) + normal_quantile(kPower);
  // The standard error falls with the root of the count; unequal sides count as their harmonic mean.
  const auto base = static_cast<double>(comparison.base_count), other = static_cast<double>(comparison.other_count);
  const double count = 2 / (1 / base + 1 / other);
  const double factor = reach * *comparison.standard_error / std::log1p(effect_ratio);
  const double needed =
      std::max(std::ceil(count * factor * factor), static_cast<double>(least_sample_count(confidence_ratio)));
  if (!(needed < 9e18)) return std::nullopt;
  return static_cast<std::int64_t>(needed);
}

}  // namespace stepscope

// Which of two programs is faster, or that it cannot be told: a ratio of medians with an interval, and a verdict.
//
// Times of one run of a program resemble each other more than times of two runs (memory layout, clocks, neighbours on
// the machine), so an interval from the steps of one run is too sure of itself. Hence what is resampled is the largest
// unit there is enough of:
//  - pairs: runs taken in turns, A B B A. Whatever slows the machine meets both halves of a pair and cancels.
//  - runs: each run counts once, by its median, however many steps it has. From 6 runs a side the medians are
//    resampled; with fewer, Student's t on their logarithms with one variance for both sides, which also serves one new
//    run against several old ones. Resampling few values was rejected: 3 runs a side cover 90 % instead of 95.
//  - steps, when there is one run a side: resampled in blocks, so that the likeness of neighbouring steps counts. Noise
//    between runs cannot be seen then; what is known of it from elsewhere goes into `between_runs_ratio`, and the
//    Comparison says whether it is in the interval.
//  - 3 to 5 values a side (recordings seldom hold more steps) tell nothing by default, which is right for a gate. With
//    `few_values` they, and steps that drift so much that they count as few, are judged by Student's t on logarithms,
//    and a difference is told only where no value of one side lies among those of the other: by chance that happens in
//    2 of 20 comparisons at most (3 a side), whatever the distribution, and within Student's 5 % where values scatter
//    normally.
//
// Measured in bench/interval_coverage.cpp: docs/performance.md, "Comparing".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/bootstrap.h"

namespace stepscope {

// Times of one run of a program, in the order in which they were taken: its steps, or one value for the whole run. Any
// unit. Values that are not finite and above 0 are left out.
using RunTimes = std::vector<double>;

enum class CompareVerdict {
  kTooFew,        // no interval can be given; `reason` says what is missing
  kNoDifference,  // none can be told: the interval holds 1, or the difference is within the tolerance
  kFaster,        // the other is faster than the base
  kSlower,
};

enum class CompareUnit { kPairs, kRuns, kSteps };

struct CompareOptions {
  double confidence_ratio = 0.95;
  // A difference up to this is none: 0.03 for a gate at 3 %. The verdict is kSlower when the whole interval lies above
  // 1 and the ratio above 1 + tolerance: noise alone must be excluded, and the best guess be worth an alarm.
  double tolerance_ratio = 0;
  // Standard deviation between medians of runs of one program, as a ratio, where a single run a side cannot show it.
  std::optional<double> between_runs_ratio;
  bool few_values = false;  // judge 3 to 5 steps or runs a side too, see above
  std::size_t resample_count = 10'000;
  std::uint64_t seed = 1;
};

struct Comparison {
  CompareVerdict verdict = CompareVerdict::kTooFew;
  CompareUnit unit = CompareUnit::kRuns;
  std::int64_t base_count = 0;  // units that were used
  std::int64_t other_count = 0;
  std::optional<double> base_median;  // of runs: the median of their medians
  std::optional<double> other_median;
  // other / base. Of pairs it is the median of the pairs' own ratios, which may differ a little from that of the
  // medians. Missing when a side is empty.
  std::optional<double> ratio;
  std::optional<ConfidenceInterval> interval;
  // Of the ratio's logarithm; missing with the interval.
  std::optional<double> standard_error;
  bool sees_noise_between_runs = false;
  bool is_of_few_values = false;  // CompareOptions::few_values was needed
  std::string reason;             // of kTooFew: a sentence
};

// Runs, each side in any order.
[[nodiscard]] Comparison compare_samples(std::span<const RunTimes> base, std::span<const RunTimes> other,
                                         const CompareOptions& options);

// base[i] and other[i] were taken one after the other. What one side has more of is left out.
[[nodiscard]] Comparison compare_pairs(std::span<const double> base, std::span<const double> other,
                                       const CompareOptions& options);

// How many units a side it takes to tell a difference of `effect_ratio` (0.01: 1 %) in four of five comparisons, if the
// noise stays what it is. Missing without an interval. At 95 % an interval that ends just at the true effect tells it
// in every second comparison only; four of five is the usual power of a planned comparison.
[[nodiscard]] std::optional<std::int64_t> units_to_tell(const Comparison& comparison, double effect_ratio,
                                                        double confidence_ratio = 0.95);

}  // namespace stepscope

// Is the change of a part of the step more than noise? Half the width of the interval of a difference of means.
//
// The step as a whole is compared as a ratio of medians (stats/compare_samples.h). Its parts cannot be: they must sum,
// which only means do, and a part may be 0 on one side. So a part has Student's t on its values by step, Welch's way
// where there are 6 or more, as sides scatter differently. With dozens of parts, one in twenty would stand out by
// chance: the confidence is divided by the number of parts that are judged together (Bonferroni; a false discovery rate
// was rejected, since it promises nothing about the one row a reader looks at).
//
// One run a side does not show how runs differ. Between five recordings of one program on one H200 (tests/data/h200:
// solid, memspike, logsync, loader, sync), the time of the 25 costliest kernels varied by 0.15 % (median of their
// standard deviations; p90 0.4 %, worst 1.0 %), the pauses that the GPU makes between kernels by 7 %, the host's time
// of operators and calls by 8 to 30 %, median 15, and what of it left the GPU idle by 6 to 35 %. Hence what is added
// where a side has a single run: 0.5 % of GPU work, 7 % of the GPU's own pauses, 20 % of what the host or other ranks
// decide: other idle time, communication, copies from and to pageable memory. Copies of pinned memory have 2 %, which
// is a guess: no two recordings have the same; within one (resnet_healthy) they scatter by 0.2 %.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stepscope {

inline constexpr double kGpuBetweenRunsRatio = 0.005;
inline constexpr double kCopyBetweenRunsRatio = 0.02;
inline constexpr double kGapBetweenRunsRatio = 0.07;
inline constexpr double kHostBetweenRunsRatio = 0.2;

// Values of one part: runs, each with its steps in order. Values are not below 0.
using PartSeries = std::vector<std::vector<double>>;

// Each run counts once. 0 without runs.
[[nodiscard]] double mean_of_runs(const PartSeries& series);

struct NoiseOptions {
  double confidence_ratio = 0.95;
  double between_runs_ratio = kHostBetweenRunsRatio;  // used where both sides have one run
  std::size_t judged_together_count = 1;
};

struct PartJudgement {
  std::optional<double> noise;  // half the interval of mean(after) - mean(before); missing: too few steps or runs
  bool is_told = false;         // the difference is more than noise
};

// Fewer than 6 values on a side tell a difference only when none of them lies among those of the other side: at 3
// values nobody can check that they scatter normally.
[[nodiscard]] PartJudgement judge_part(const PartSeries& before, const PartSeries& after, const NoiseOptions& options);

}  // namespace stepscope

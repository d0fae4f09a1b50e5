// One side of a comparison: the runs of one rank, as series by step. A run that was recorded in several windows has the
// steps of all of them, one after the other (fleet/recordings.h).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fleet/difference_match.h"
#include "fleet/recordings.h"

namespace stepscope {

// The runs of one rank, each with its windows.
using RankRuns = std::vector<Windows>;

// All recordings of them, in order.
[[nodiscard]] Windows windows_of(const RankRuns& runs);

// A value of every step, by run.
template <class Value>
PartSeries series_of(const RankRuns& runs, Value&& value) {
  PartSeries series;
  for (const Windows& windows : runs) {
    std::vector<double>& steps = series.emplace_back();
    for (const RankSummary* window : windows) {
      for (const SummaryStep& step : window->steps) steps.push_back(static_cast<double>(value(step)));
    }
  }
  return series;
}

struct RankSide {
  RankRuns runs;
  PartSeries step_ns, gpu_busy_ns, idle_ns, exposed_ns;
  PartSeries gpu_work_ns;  // busy without exposed communication
  std::array<PartSeries, kHostLabelCount> cause_ns;
  // Sums to gpu_busy_ns step by step: time that no row has stands in a row without a kernel.
  std::vector<WorkSeries> work;
};

// What both sides recorded: names that only one has would match nothing.
struct SharedNames {
  bool has_shapes = true, has_places = true;
};

// Why the parts of a summary do not sum to its steps, or its times are none; empty if all is well. Only damaged or
// invented files are so.
[[nodiscard]] std::string find_contradiction(const RankSummary& rank);

// Over which counts and sums of the run go, also those steps that the summary does not keep.
[[nodiscard]] double counted_steps(const Windows& run);

[[nodiscard]] RankSide build_rank_side(const RankRuns& runs, const SharedNames& names);
[[nodiscard]] PartSeries sum_class(const RankSide& side, KernelClass kernel_class);

// Whole numbers that sum to `total`, each within 1 of its part where the parts sum to it (largest remainders, ties to
// the first).
[[nodiscard]] std::vector<DurationNs> apportion(std::span<const double> parts, DurationNs total);

}  // namespace stepscope

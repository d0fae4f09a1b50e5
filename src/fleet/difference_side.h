// One side of a comparison: the runs of one rank, as series by step.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fleet/difference_match.h"

namespace stepscope {

// Recordings of one rank; pointers into a RunSummary.
using RankRuns = std::vector<const RankSummary*>;

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
[[nodiscard]] double counted_steps(const RankSummary& run);

[[nodiscard]] RankSide build_rank_side(const RankRuns& runs, const SharedNames& names);
[[nodiscard]] PartSeries sum_class(const RankSide& side, KernelClass kernel_class);

// Whole numbers that sum to `total`, each within 1 of its part where the parts sum to it (largest remainders, ties to
// the first).
[[nodiscard]] std::vector<DurationNs> apportion(std::span<const double> parts, DurationNs total);

}  // namespace stepscope

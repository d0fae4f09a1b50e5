// The rows of SummaryWork: GPU work by operator, shapes, kernel and place, with the busy time of each step shared out.
#pragma once

#include <vector>

#include "analyze/facts.h"
#include "fleet/rank_summary.h"

namespace stepscope {

// Each step of the summary as a stretch of the GPU's time; sorted, disjoint.
struct StepStretch {
  Interval gpu;
  std::size_t step = 0;
};

struct WorkRequest {
  std::vector<StepStretch> stretches;  // all steps, kept or not, without what was not recorded
  std::size_t kept_step_count = 0;     // steps below it are kept; busy_by_step_ns is made for these
  std::size_t most_rows = 0;           // beyond these, rows of one class become one
};

// Of the main device. Costliest first, then the rows that hold the rest, by class.
[[nodiscard]] std::vector<SummaryWork> compute_work_rows(const Trace& trace, const Facts& facts,
                                                         const WorkRequest& request);

// Keeps the first `most_rows` rows that have a kernel's name; adds the others to the row of their class that has none.
void limit_work_rows(std::vector<SummaryWork>& work, std::size_t most_rows);

// Sums that cannot overflow, however hostile the lengths.
void add_bounded(std::int64_t& sum, std::int64_t number);

}  // namespace stepscope

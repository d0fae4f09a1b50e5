// From host marks to steps on the GPU's clock: G_k = max(host start of k, end of all GPU work launched before it).
#pragma once

#include "analyze/step_marks.h"

namespace stepscope {

struct BoundedSteps {
  std::vector<Step> steps;
  // Trailing steps whose GPU work is cut off, and where the recorder lost records all that lack some; by number.
  std::vector<std::int64_t> left_out;
};

[[nodiscard]] BoundedSteps compute_step_boundaries(const Trace& trace, const GpuTimeline& timeline,
                                                   const Launches& launches, std::vector<StepMark> marks);

}  // namespace stepscope

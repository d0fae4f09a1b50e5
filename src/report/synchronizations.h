// Where the host waited for the GPU: blocking calls by operator path, Python line and spans.
#pragma once

#include "report/report.h"

namespace stepscope {

// At most 64, those that blocked longest first. Only waits of the steps, when there are steps.
[[nodiscard]] std::vector<SynchronizationRow> build_synchronizations(const Trace& trace, const Facts& facts,
                                                                     bool whole_file_window);

}  // namespace stepscope

// The tables of the report: kernels and operators by their own time, of the work that the steps launched.
//
// Operators have the numbers of `stepscope ops` (analyze/averages.h), a kernel's are the sums of its durations as
// there: two tables of one program that differ are worth nothing.
#pragma once

#include "report/report.h"

namespace stepscope {

// The steps on the host's clock; without steps, or over the whole file, what `steps.window` says for both clocks.
[[nodiscard]] Interval host_window(const Steps& steps, bool whole_file_window);

// Kernels and device times of the report's main device, or with `every_device` of all together.
[[nodiscard]] Tables build_tables(const Trace& trace, const Facts& facts, bool whole_file_window, std::size_t top_count,
                                  bool every_device = false);

}  // namespace stepscope

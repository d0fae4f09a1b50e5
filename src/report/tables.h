// The tables of the report: kernels and operators by their own time, of the work that the steps launched.
//
// Operators have the numbers of `stepscope ops` (analyze/averages.h), a kernel's are the sums of its durations as
// there: two tables of one program that differ are worth nothing.
#pragma once

#include "report/report.h"

namespace stepscope {

[[nodiscard]] Tables build_tables(const Trace& trace, const Facts& facts, bool whole_file_window,
                                  std::size_t top_count);

}  // namespace stepscope

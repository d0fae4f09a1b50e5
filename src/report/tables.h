// The tables of the report: kernels and operators by their own time, inside the window of the steps.
//
// The numbers are those of `stepscope ops` (analyze/averages.h); a second, cheaper way to sum them was rejected,
// because two tables of one program that differ are worth nothing.
#pragma once

#include "report/report.h"

namespace stepscope {

[[nodiscard]] Tables build_tables(const Trace& trace, const Facts& facts, std::size_t top_count);

}  // namespace stepscope

// Results of the analysis as Arrow tables: averages of operators, kernels, steps, idle gaps.
#pragma once

#include "analyze/facts.h"
#include "python/table_maker.h"
#include "trace/trace.h"

namespace stepscope::python {

// key_averages: one row a name, shape or stack, in order of first appearance.
[[nodiscard]] TablePointer averages_table(const Trace& trace, const AveragesOptions& options);
// One row a kernel, copy or set that ran, in order of device and start.
[[nodiscard]] TablePointer kernels_table(const Trace& trace, const Facts& facts);
[[nodiscard]] TablePointer steps_table(const Trace& trace, const Facts& facts);
// Every idle gap of every device in the window; `cause` is the largest part of the blame view.
[[nodiscard]] TablePointer gaps_table(const Trace& trace, const Facts& facts);

}  // namespace stepscope::python

// A run's summary as a table: one row a rank.
#pragma once

#include "fleet/rank_summary.h"
#include "python/table_maker.h"

namespace stepscope::python {

// In the order of the summary. Times are medians over the rank's complete steps.
[[nodiscard]] TablePointer ranks_table(const RunSummary& run);

}  // namespace stepscope::python

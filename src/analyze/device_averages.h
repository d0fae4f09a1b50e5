// key_averages (analyze/averages.h) with the kernels and device times of one device alone, for tables that stand under
// that device's head. Calls and CPU times are of all work, since an operator belongs to no device; those that gave that
// device work are AverageRow::device_count.
//
// Not an option of AveragesOptions: torch has no such table, and `ops` must be comparable with torch's.
#pragma once

#include "analyze/averages.h"

namespace stepscope {

// Not with GroupBy::kModule.
[[nodiscard]] Averages compute_averages_of_device(const Trace& trace, const AveragesOptions& options, DeviceId device);

}  // namespace stepscope

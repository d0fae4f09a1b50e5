// Copies from pageable host memory, and what a copy costs that no kernel covers.
//
// The driver copies pageable memory through a small pinned buffer of its own: slower than the bus (8.5 instead of
// 55 GB/s on an H200) and the call returns only when it is done.
#pragma once

#include <optional>

#include "analyze/kernel_class.h"
#include "analyze/steps.h"

namespace stepscope {

struct PageableCopies {
  std::int64_t count = 0;  // host-to-device copies from pageable memory, in the window
  double bytes = 0;        // double: a damaged file may hold sizes whose sum leaves 64 bits
  DurationNs gpu_sum_ns = 0;
  DurationNs exposed_ns = 0;                 // under no kernel
  std::optional<GpuEventId> largest;         // the longest one
  std::optional<double> pinned_bytes_per_s;  // the fastest pinned copy of the same direction over 1 MB in the trace
};

[[nodiscard]] PageableCopies compute_pageable_copies(const Trace& trace, const GpuTimeline& timeline,
                                                     const Steps& steps, DeviceId device);

struct CopyTotal {
  StringId name;  // "Memcpy HtoD (Pinned -> Device)"
  std::int64_t count = 0;
  double bytes = 0;  // double: a damaged file may hold sizes whose sum leaves 64 bits
  DurationNs gpu_sum_ns = 0;
  std::optional<GpuEventId> largest;
};
// Copies of the window by name, costliest first.
[[nodiscard]] std::vector<CopyTotal> compute_copy_totals(const Trace& trace, const GpuTimeline& timeline,
                                                         const Steps& steps, DeviceId device);

[[nodiscard]] bool is_pageable_to_device(std::string_view copy_name);

}  // namespace stepscope

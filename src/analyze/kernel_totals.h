// GPU time by kernel name, over the window, and the same for kernels that one class or one span launched.
#pragma once

#include <optional>
#include <vector>

#include "analyze/kernel_class.h"
#include "analyze/steps.h"

namespace stepscope {

struct KernelTotal {
  StringId name;
  KernelClass kernel_class = KernelClass::kOther;
  std::int64_t count = 0;
  DurationNs gpu_sum_ns = 0;
};

// Sums of effective durations of the events of one device that start in the window, costliest first.
[[nodiscard]] std::vector<KernelTotal> compute_kernel_totals(const Trace& trace, const GpuTimeline& timeline,
                                                             const KernelClasses& classes, const Steps& steps,
                                                             DeviceId device);

struct OptimizerKernels {
  std::int64_t count = 0;  // in the window; kernels replayed from a graph are not counted, they cost no launch
  DurationNs gpu_sum_ns = 0;
  std::optional<DurationNs> median_ns;
};
[[nodiscard]] OptimizerKernels compute_optimizer_kernels(const Trace& trace, const GpuTimeline& timeline,
                                                         const KernelClasses& classes, const Steps& steps,
                                                         DeviceId device);

}  // namespace stepscope

// Does a launch call return before its kernel ends? With CUDA_LAUNCH_BLOCKING=1 it never does.
//
// Only kernels over 20 us are asked: a shorter one can end before an ordinary call returns (a call takes about 5 us,
// 10 under a profiler), so it says nothing.
#pragma once

#include "analyze/gpu_timeline.h"
#include "base/interval.h"

namespace stepscope {

struct LaunchReturns {
  // 95 % and not all, because the clocks of host and GPU agree to some microseconds only; 10 kernels, so that three odd
  // ones decide nothing.
  static constexpr double kEndedFirst = 0.95;
  static constexpr std::int64_t kEnoughKernels = 10;
  std::int64_t kernel_count = 0;       // kernels over 20 us with a launch call of their own (no graphs)
  std::int64_t ended_first_count = 0;  // of these, those that had ended when the call returned
  [[nodiscard]] double ratio() const {
    return kernel_count == 0 ? 0 : static_cast<double>(ended_first_count) / static_cast<double>(kernel_count);
  }
  [[nodiscard]] bool launches_block() const { return kernel_count >= kEnoughKernels && ratio() >= kEndedFirst; }
};

// Over kernels that start in the window, all devices.
[[nodiscard]] LaunchReturns compute_launch_returns(const Trace& trace, const GpuTimeline& timeline, Interval window);

}  // namespace stepscope

// GPU busy time as a union, for each device, over the window and in each step; by kind; what communication and
// copies are exposed (not under compute). Sums of durations carry another name (gpu_sum_ns).
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "analyze/kernel_class.h"
#include "analyze/steps.h"

namespace stepscope {

struct DeviceBusy {
  DeviceId device;
  DurationNs window_ns = 0;
  DurationNs gpu_busy_ns = 0;                                   // union of effective events, clipped to the window
  DurationNs gpu_busy_raw_ns = 0;                               // the same with durations as recorded
  DurationNs idle_ns = 0;                                       // window - busy
  DurationNs gpu_sum_ns = 0;                                    // sum of effective durations in the window
  std::array<DurationNs, kKernelClassCount> busy_by_kind_ns{};  // a union for each kind: may add up to more than busy
  std::array<std::int64_t, kKernelClassCount> count_by_kind{};
  DurationNs tensor_core_ns = 0;    // sum of kernels that use tensor cores
  DurationNs simt_matmul_ns = 0;    // sum of matmul kernels that do not
  DurationNs communication_ns = 0;  // union
  DurationNs exposed_communication_ns =
      0;  // communication under which nothing but copies/sets/idle runs: not under compute
  DurationNs hidden_communication_ns = 0;
  DurationNs exposed_copy_ns = 0;           // copies not under kernels
  std::vector<DurationNs> busy_by_step_ns;  // one for each of Steps::steps; empty beyond kMostDevicesInFull
  std::vector<DurationNs> exposed_communication_by_step_ns;  // likewise
  IntervalSet busy;                                          // the union itself, clipped to the window
};

// Of more devices than any process drives (72 in the largest coherent rack) only the busiest are told in full: lists by
// step, causes of idle time. What grows with devices times steps, or devices times host events, would let a file of
// 1 MB take gigabytes, and one of 5 MB many seconds.
inline constexpr std::size_t kMostDevicesInFull = 128;

// Indices into `busy`, ascending: the busiest devices, at most so many, and `always` where it is one.
[[nodiscard]] std::vector<std::size_t> busiest_devices(const std::vector<DeviceBusy>& busy, std::size_t most,
                                                       std::optional<std::size_t> always = {});

// One entry for each device that has GPU events, in table order. `asked`: number of a device to be told in full.
[[nodiscard]] std::vector<DeviceBusy> compute_busy(const Trace& trace, const GpuTimeline& timeline,
                                                   const KernelClasses& classes, const Steps& steps,
                                                   std::optional<std::int64_t> asked = {});

}  // namespace stepscope

// Allocated and reserved bytes over the steps, from `[memory]` events, and the process's use from counters; each device
// apart, the CPU never as a GPU.
#pragma once

#include <optional>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

struct MemoryPeak {
  std::int64_t bytes = 0;
  TimeNs time_ns = 0;
};

struct DeviceMemoryLevels {
  std::int64_t device_number = 0;
  std::optional<MemoryPeak> allocated_peak, reserved_peak;
  std::optional<std::int64_t> allocated_last_bytes, reserved_last_bytes;
  // What the whole process used (NVML, a few times in a recording): contexts and libraries beside the allocator.
  std::optional<MemoryPeak> process_peak;
  std::optional<std::int64_t> process_last_bytes, in_use_last_bytes;      // in use: by all processes together
  std::vector<std::optional<std::int64_t>> allocated_peak_by_step_bytes;  // one for each of Steps::steps
  std::vector<std::optional<std::int64_t>> reserved_peak_by_step_bytes;
};

struct MemoryLevels {
  bool recorded = false;
  std::vector<DeviceMemoryLevels> devices;  // GPUs only, by number
  std::int64_t cpu_event_count = 0;
};

[[nodiscard]] MemoryLevels compute_memory_levels(const Trace& trace, const Steps& steps);

}  // namespace stepscope

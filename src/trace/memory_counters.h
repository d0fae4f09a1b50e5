// Names of the counters that hold what a whole process uses of a device's memory.
//
// An allocator's totals stand in memory_events. What it does not know of (the context, code, NCCL's buffers, other
// libraries) only NVML tells, a few times in a recording; a table of its own for a handful of numbers was rejected.
// Written by the capture's importer, read by analyze and memory.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope {

inline constexpr std::string_view kMemoryCounterSeries = "bytes";

// "GPU 0 memory of the process": bytes that this process uses of the device, in all.
[[nodiscard]] inline std::string process_memory_counter(std::int64_t device_number) {
  return "GPU " + std::to_string(device_number) + " memory of the process";
}
// "GPU 0 memory in use": bytes in use by all processes together.
[[nodiscard]] inline std::string device_memory_counter(std::int64_t device_number) {
  return "GPU " + std::to_string(device_number) + " memory in use";
}

enum class MemoryCounterKind : unsigned char { kProcess, kDevice };
struct MemoryCounter {
  MemoryCounterKind kind = MemoryCounterKind::kProcess;
  std::int64_t device_number = 0;
};
// The other way round; missing: another counter.
[[nodiscard]] inline std::optional<MemoryCounter> find_memory_counter(std::string_view name) {
  constexpr std::string_view kBegin = "GPU ";
  if (!name.starts_with(kBegin)) return std::nullopt;
  MemoryCounter counter;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kBegin.size(), end, counter.device_number);
  if (error != std::errc() || counter.device_number < 0) return std::nullopt;
  if (name == process_memory_counter(counter.device_number)) return counter;
  counter.kind = MemoryCounterKind::kDevice;
  if (name == device_memory_counter(counter.device_number)) return counter;
  return std::nullopt;
}

}  // namespace stepscope

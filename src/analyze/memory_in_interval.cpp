// See memory_in_interval.h.
#include "analyze/memory_in_interval.h"

#include <algorithm>

namespace stepscope {
namespace {

// Numbers of c10::DeviceType that PyTorch's tables count: CPU, MKLDNN and IDEEP; CUDA, HIP, XPU, PrivateUse1.
bool is_host_memory(std::int32_t type) { return type == 0 || type == 2 || type == 5; }
bool is_device_memory(std::int32_t type) { return type == 1 || type == 6 || type == 12 || type == 20; }

}  // namespace

MemoryInInterval::MemoryInInterval(const Trace& trace) : times_(trace.memory_events.time_ns.raw()) {
  sum_before_.resize(times_.size() + 1);
  owner_difference_.resize(times_.size() + 1);
  MemoryChange sum;
  for (const MemoryEventId id : trace.memory_events.ids().ids()) {
    sum_before_[id.value] = sum;
    const std::int32_t type = trace.memory_events.device_type[id];
    const std::int64_t bytes = trace.memory_events.bytes[id];
    sum += {is_host_memory(type) ? bytes : 0, is_device_memory(type) ? bytes : 0};
  }
  sum_before_.back() = sum;
}

MemoryInInterval::Range MemoryInInterval::range(TimeNs start_ns, TimeNs end_ns) {
  while (cursor_ < times_.size() && times_[cursor_] < start_ns) ++cursor_;
  std::size_t low = cursor_;
  std::size_t step = 1;
  while (low + step <= times_.size() && times_[low + step - 1] <= end_ns) {
    low += step;
    step *= 2;
  }
  const std::size_t high = std::min(low + step, times_.size());
  const auto end = std::upper_bound(times_.begin() + static_cast<std::ptrdiff_t>(low),
                                    times_.begin() + static_cast<std::ptrdiff_t>(high), end_ns);
  return {cursor_, static_cast<std::size_t>(end - times_.begin())};
}

MemoryChange MemoryInInterval::change(Range range) const {
  MemoryChange out = sum_before_[range.end];
  out -= sum_before_[range.begin];
  return out;
}

void MemoryInInterval::mark_owned(Range range) {
  if (range.begin == range.end) return;
  ++owner_difference_[range.begin];
  --owner_difference_[range.end];
}

std::vector<MemoryEventId> MemoryInInterval::without_owner() const {
  std::vector<MemoryEventId> out;
  std::int64_t owners = 0;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    owners += owner_difference_[i];
    if (owners == 0) out.emplace_back(i);
  }
  return out;
}

}  // namespace stepscope

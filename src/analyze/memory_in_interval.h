// Bytes that `[memory]` events allocated and freed inside an interval, ends included, on any thread.
//
// That is how PyTorch's tables give memory to an event: a main thread waiting for autograd owns what autograd
// allocates meanwhile. Prefix sums over the events in order of time make each question two searches; for the nested
// intervals of one thread the first is a step of a cursor and the second gallops, so leaves cost next to nothing.
#pragma once

#include <vector>

#include "trace/trace.h"

namespace stepscope {

// Sums wrap around: a damaged file may hold sizes whose sum does not fit, and a wrong number is all it can ask for.
[[nodiscard]] constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
[[nodiscard]] constexpr std::int64_t wrapping_subtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

struct MemoryChange {
  std::int64_t cpu_bytes = 0;
  std::int64_t device_bytes = 0;

  MemoryChange& operator+=(const MemoryChange& other) {
    cpu_bytes = wrapping_add(cpu_bytes, other.cpu_bytes);
    device_bytes = wrapping_add(device_bytes, other.device_bytes);
    return *this;
  }
  MemoryChange& operator-=(const MemoryChange& other) {
    cpu_bytes = wrapping_subtract(cpu_bytes, other.cpu_bytes);
    device_bytes = wrapping_subtract(device_bytes, other.device_bytes);
    return *this;
  }
};

class MemoryInInterval {
 public:
  explicit MemoryInInterval(const Trace& trace);

  // Intervals of one thread must be asked for in order of start; call begin_thread() before the next thread.
  void begin_thread() { cursor_ = 0; }
  struct Range {
    std::size_t begin = 0, end = 0;  // memory events
  };
  [[nodiscard]] Range range(TimeNs start_ns, TimeNs end_ns);
  [[nodiscard]] MemoryChange change(Range range) const;
  // Marks events as owned by some interval, and afterwards lists those of no owner.
  void mark_owned(Range range);
  [[nodiscard]] std::vector<MemoryEventId> without_owner() const;
  [[nodiscard]] bool empty() const { return times_.empty(); }

 private:
  const std::vector<TimeNs>& times_;
  std::vector<MemoryChange> sum_before_;        // one more than events
  std::vector<std::int32_t> owner_difference_;  // likewise: +1 where an owned range begins, -1 where it ends
  std::size_t cursor_ = 0;
};

}  // namespace stepscope

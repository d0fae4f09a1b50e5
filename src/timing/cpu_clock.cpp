// The host's monotonic clock as a Clock: nothing runs beside the host, so there is nothing to wait for.
//
// An event is a reading of the clock kept in its handle: no table of events, no memory, nothing to give back.
// steady_clock is CLOCK_MONOTONIC here, about 20 ns a reading from user space. Reading the TSC directly was rejected:
// it needs a calibration that a Timer's blocks (200 us and more each) do not repay.
#include <algorithm>
#include <chrono>

#include "stepscope/clock.h"

namespace stepscope {
namespace {

std::int64_t read_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Error no_event() { return {ErrorCode::kInvalidArgument, "an empty event was given to the CPU clock", ""}; }

class CpuClock final : public Clock {
 public:
  [[nodiscard]] std::string name() const override { return "cpu"; }
  [[nodiscard]] bool is_device() const override { return false; }
  Status synchronize() override { return Done{}; }
  [[nodiscard]] std::int64_t now_ns() override { return read_ns(); }

  // A handle of 0 is no event; a monotonic clock that reads 0 would be in the first nanosecond since boot.
  Result<ClockEvent> record_event() override {
    return ClockEvent{static_cast<std::uint64_t>(std::max<std::int64_t>(1, read_ns()))};
  }
  Status wait_event(ClockEvent event) override {
    if (event.handle == 0) return no_event();
    return Done{};
  }
  Result<double> elapsed_ns(ClockEvent begin, ClockEvent end) override {
    if (begin.handle == 0 || end.handle == 0) return no_event();
    return static_cast<double>(static_cast<std::int64_t>(end.handle - begin.handle));
  }
  void release_event(ClockEvent) override {}
};

}  // namespace

std::unique_ptr<Clock> make_cpu_clock() { return std::make_unique<CpuClock>(); }

}  // namespace stepscope

// Clocks: how to wait for work and how to tell how long it took, on the CPU, on a CUDA device, or scripted in a test.
//
// A GPU runs behind the program that feeds it, so a host clock alone measures the launch and not the work. There are
// two right ways: wait for the device and then read a monotonic host clock (`synchronize`, then `now_ns`), or put an
// event before and one behind the work into its stream and ask for the time between them. A Clock offers both, so that
// Timer and StepTimer are written once. Definitions: docs/glossary.md, "Timer" and "step".
//
// The CUDA clock finds the driver (libcuda.so.1) at run time: programs need not link CUDA, and a machine without a GPU
// answers with an Error instead of failing to start.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "stepscope/result.h"

namespace stepscope {

// An event of one clock. Empty (0) is no event.
struct ClockEvent {
  std::uint64_t handle = 0;
};

// Not thread-safe, unless a clock says so: one clock a measuring thread.
class Clock {
 public:
  virtual ~Clock() = default;

  // "cpu", "cuda:0 (NVIDIA H200)".
  [[nodiscard]] virtual std::string name() const = 0;
  // Does synchronize() wait for a device that works beside the host?
  [[nodiscard]] virtual bool is_device() const = 0;

  // Blocks until all work given to the device so far has ended. An error is the device's (a kernel that failed).
  virtual Status synchronize() = 0;
  // Monotonic host clock, ns since an arbitrary point.
  [[nodiscard]] virtual std::int64_t now_ns() = 0;

  // Puts an event into the stream (on the CPU: reads the clock). Does not block.
  virtual Result<ClockEvent> record_event() = 0;
  // Blocks until the event was reached; waits for nothing behind it.
  virtual Status wait_event(ClockEvent event) = 0;
  // Time from one event to another, both reached, in ns. CUDA's own resolution is about 0.5 us.
  virtual Result<double> elapsed_ns(ClockEvent begin, ClockEvent end) = 0;
  // Gives the event back; events that never are given back live as long as the clock.
  virtual void release_event(ClockEvent event) = 0;
};

// The host's monotonic clock; its events are readings of it.
[[nodiscard]] std::unique_ptr<Clock> make_cpu_clock();

// A CUDA device's clock. `device` -1: the device of the thread's current context, else device 0 (whose primary context
// is then made current). `stream` is a cudaStream_t or CUstream; nullptr is the default stream. Errors: kNotFound when
// there is no driver or device, kInvalidArgument for a device number that does not exist, kUnsupported for a driver too
// old. While its stream is captured into a graph, or a stream that synchronizes with the default one is, record_event()
// and synchronize() answer with an error (kInvalidArgument) and leave the capture alone. A capture on any other stream
// cannot be seen: its events are safe, but synchronize() fails beside it and CUDA gives that capture up, as it does for
// cudaDeviceSynchronize.
[[nodiscard]] Result<std::unique_ptr<Clock>> open_cuda_clock(int device = -1, void* stream = nullptr);

// The CUDA clock if this process already uses CUDA (a context is current on some thread's device), else the CPU clock.
// Never starts CUDA by itself.
[[nodiscard]] std::unique_ptr<Clock> make_default_clock();

// What in the environment spoils every GPU time measured in this process: a sentence, or empty. Today:
// CUDA_LAUNCH_BLOCKING set to anything but 0 (each launch waits for its kernel).
[[nodiscard]] std::string find_spoiled_timing();

}  // namespace stepscope

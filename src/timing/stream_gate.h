// Holds a stream until the host lets it go, and never longer than a time limit.
//
// What is queued behind a held stream starts without the host: that is how a kernel's own time is measured. Two ways to
// hold: the stream waits for a value in mapped host memory (cuStreamWaitValue32), or a kernel of one thread spins on
// it.
//
// A callable that waits for the held stream, or that queues more launches than the stream takes (about 1000), would
// never come back. A watchdog thread lets the stream go when the limit has passed; the sample is then worth nothing,
// and release() says so. The watchdog looks now and then by itself, so that holding costs no wake-up of a thread.
//
// The word only ever counts up: hold k waits for a value of at least k. So a late watchdog cannot let go a later hold
// by mistake, other than the one it was meant for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "timing/cuda_context.h"
#include "timing/mapped_memory.h"
#include "timing/timing_kernels.h"

namespace stepscope {

class StreamGate {
 public:
  enum class Method : std::uint8_t { kWaitValue, kKernel };

  // kWaitValue becomes kKernel where the driver has no cuStreamWaitValue32. The context has to be current.
  [[nodiscard]] static Result<std::unique_ptr<StreamGate>> open(const std::shared_ptr<CudaContext>& context,
                                                                std::shared_ptr<TimingKernels> kernels, CuStream stream,
                                                                Method method);
  // Lets go, waits for the stream, ends the watchdog.
  ~StreamGate();
  StreamGate(const StreamGate&) = delete;
  StreamGate& operator=(const StreamGate&) = delete;

  // Work queued from now on waits for release(), `limit_ns` at most.
  [[nodiscard]] Status hold(std::int64_t limit_ns);
  // False: the watchdog had to let go before. Without a hold since the last release: true.
  [[nodiscard]] bool release();

  [[nodiscard]] Method method() const { return method_; }

 private:
  StreamGate(std::shared_ptr<CudaContext> context, std::shared_ptr<TimingKernels> kernels, CuStream stream);
  void watch();
  void let_go(std::uint32_t number);
  [[nodiscard]] Status queue_wait();

  std::shared_ptr<CudaContext> context_;
  std::shared_ptr<TimingKernels> kernels_;
  CuStream stream_;
  Method method_ = Method::kKernel;
  std::unique_ptr<MappedMemory> word_;
  std::uint32_t number_ = 0;                  // of the hold
  bool is_asked_for_ = false;                 // hold() without release() yet
  std::atomic<std::uint32_t> held_{0};        // number_ while held and not let go, else 0
  std::atomic<std::int64_t> deadline_ns_{0};  // of the hold
  std::atomic<std::int64_t> limit_ns_{0};

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ending_ = false;  // under mutex_
  std::thread watchdog_;
};

}  // namespace stepscope

// Everything that one measurement of a kernel holds on the device, and one sample of it.
//
// A sample, as nvbench takes it, except that the clock's first stamp lies before the flush (a longer base: the device's
// timer ticks coarsely) and that nothing is waited for between flush and hold (both are in the stream anyway):
//
//   stamp | flush L2 | hold | event | launches | event | stamp | let go | wait
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "stepscope/cold_timer.h"
#include "timing/cuda_context.h"
#include "timing/sm_clock.h"
#include "timing/stream_gate.h"
#include "timing/timing_kernels.h"

namespace stepscope {

struct KernelSample {
  double elapsed_ns = 0;  // between the events
  std::optional<double> clock_hz;
  std::int64_t launch_wall_ns = 0;  // that the host spent in the callable
  bool was_let_go = false;          // by the watchdog: elapsed_ns means nothing
  bool is_host_bound = false;       // the device was done before the host had queued the last launch
};

struct KernelSampleRequest {
  std::int64_t launch_count = 1;
  std::int64_t held_launch_count = 1;  // of these; the stream is let go behind them
  L2Flush flush = L2Flush::kNone;
  bool hold_stream = false;
  std::int64_t hold_limit_ns = 0;
};

class KernelBench {
 public:
  [[nodiscard]] static Result<std::unique_ptr<KernelBench>> open(const KernelTimerOptions& options, bool flush_l2,
                                                                 StreamGate::Method method);
  ~KernelBench();
  KernelBench(const KernelBench&) = delete;
  KernelBench& operator=(const KernelBench&) = delete;

  [[nodiscard]] Result<KernelSample> take_sample(const std::function<Status()>& launch,
                                                 const KernelSampleRequest& request);
  // Holds and lets go once, with nothing between: the first hold loads code, which waits for the device.
  [[nodiscard]] Status load();

  [[nodiscard]] const CudaContext& context() const { return *context_; }
  [[nodiscard]] const SmClock& clock() const { return *clock_; }
  [[nodiscard]] bool can_flush() const { return l2_bytes_ != 0; }

 private:
  KernelBench(std::shared_ptr<CudaContext> context, CuStream stream) : context_(std::move(context)), stream_(stream) {}
  [[nodiscard]] Status make_parts(bool flush_l2, StreamGate::Method method);
  [[nodiscard]] Status queue_begin(const KernelSampleRequest& request);
  [[nodiscard]] Status queue_launches(const std::function<Status()>& launch, const KernelSampleRequest& request,
                                      KernelSample& sample);
  [[nodiscard]] Status flush(L2Flush how);
  [[nodiscard]] Status finish(KernelSample& sample);
  [[nodiscard]] Status check(CuResult result, const char* call) const {
    return cuda_status(context_->driver(), result, call);
  }

  std::shared_ptr<CudaContext> context_;
  CuStream stream_;
  std::shared_ptr<TimingKernels> kernels_;
  std::unique_ptr<SmClock> clock_;
  std::unique_ptr<StreamGate> gate_;
  CuEvent begin_ = nullptr;
  CuEvent before_last_ = nullptr;  // behind the last launch but one
  CuEvent end_ = nullptr;
  CuPointer flush_buffer_ = 0;
  std::size_t l2_bytes_ = 0;
};

}  // namespace stepscope

// The SM clock while a sample was taken: how many of its ticks went by in how many nanoseconds.
//
// A kernel before and one after the sample write each SM's own tick counter with the device's timer. NVML's clock was
// rejected: it is an average over a time that it does not tell, and a call costs more than a sample. The stamps lie
// outside the two events. nvbench reads SM 0 alone; any SM that both kernels reached will do, so that a partitioned GPU
// works as well.
#pragma once

#include <memory>
#include <optional>

#include "timing/cuda_context.h"
#include "timing/mapped_memory.h"
#include "timing/timing_kernels.h"

namespace stepscope {

class SmClock {
 public:
  // The context has to be current.
  [[nodiscard]] static Result<std::unique_ptr<SmClock>> open(const std::shared_ptr<CudaContext>& context,
                                                             std::shared_ptr<TimingKernels> kernels, CuStream stream);

  [[nodiscard]] Status stamp_begin();
  [[nodiscard]] Status stamp_end();
  // Once the stream has been waited for. Missing when no SM was reached by both.
  [[nodiscard]] std::optional<double> read_hz() const;
  // The clock the device is made for. Missing when the driver does not tell.
  [[nodiscard]] std::optional<double> default_hz() const { return default_hz_; }

 private:
  SmClock(std::shared_ptr<TimingKernels> kernels, CuStream stream) : kernels_(std::move(kernels)), stream_(stream) {}

  std::shared_ptr<TimingKernels> kernels_;
  CuStream stream_;
  std::unique_ptr<MappedMemory> begin_;
  std::unique_ptr<MappedMemory> end_;
  unsigned block_count_ = 1;
  std::optional<double> default_hz_;
};

}  // namespace stepscope

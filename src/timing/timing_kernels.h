// Three tiny kernels as PTX text, which the driver compiles for the GPU at hand.
//
//   hold(word, value)     one thread that spins until (int32)(*word - value) >= 0
//   stamp(stamps, count)  each block writes {%globaltimer, %clock64} to stamps[SM's number]
//   read(data, bytes)     all threads together load each 16 bytes once
//
// PTX text and not a compiled kernel: no CUDA compiler is needed to build this library, and a GPU newer than it is
// served too. `.target sm_60` is the oldest GPU that has the 64-bit timers in this form.
#pragma once

#include <cstdint>
#include <memory>

#include "timing/cuda_context.h"

namespace stepscope {

class TimingKernels {
 public:
  // The context has to be current.
  [[nodiscard]] static Result<std::shared_ptr<TimingKernels>> load(std::shared_ptr<CudaContext> context);
  ~TimingKernels();
  TimingKernels(const TimingKernels&) = delete;
  TimingKernels& operator=(const TimingKernels&) = delete;

  [[nodiscard]] Status launch_hold(CuStream stream, CuPointer word, std::uint32_t value) const;
  // `stamps` has `count` places of 16 bytes; `block_count` blocks are started, enough to reach every SM.
  [[nodiscard]] Status launch_stamp(CuStream stream, CuPointer stamps, std::uint32_t count, unsigned block_count) const;
  // `bytes` is a multiple of 16.
  [[nodiscard]] Status launch_read(CuStream stream, CuPointer data, std::uint64_t bytes) const;

 private:
  explicit TimingKernels(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}
  [[nodiscard]] Status launch(CuFunction function, unsigned block_count, unsigned thread_count, CuStream stream,
                              void** arguments) const;

  std::shared_ptr<CudaContext> context_;
  CuModule module_ = nullptr;
  CuFunction hold_ = nullptr;
  CuFunction stamp_ = nullptr;
  CuFunction read_ = nullptr;
  unsigned sm_count_ = 1;
};

}  // namespace stepscope

// A real GPU for tests and benchmarks: a context, a few small kernels, and the calls of the driver that the library
// itself does not need (streams, graphs, pools).
//
// Kernels are PTX text, so that programs build without a CUDA toolkit and are carried to a machine with a GPU.
#pragma once

#include <cstdint>
#include <memory>

#include "timing/cuda_context.h"
#include "timing/timing_kernels.h"

namespace stepscope {

using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;

struct GpuCalls {
  CuResult (*stream_create)(CuStream*, unsigned flags) = nullptr;  // 0: waits for the default stream; 1: does not
  CuResult (*stream_destroy)(CuStream) = nullptr;
  CuResult (*begin_capture)(CuStream, int mode) = nullptr;  // 0: global
  CuResult (*end_capture)(CuStream, CuGraph*) = nullptr;
  CuResult (*graph_instantiate)(CuGraphExec*, CuGraph, unsigned long long flags) = nullptr;
  CuResult (*graph_launch)(CuGraphExec, CuStream) = nullptr;
  CuResult (*graph_destroy)(CuGraph) = nullptr;
  CuResult (*graph_exec_destroy)(CuGraphExec) = nullptr;
  CuResult (*alloc_async)(CuPointer*, std::size_t bytes, CuStream) = nullptr;
  CuResult (*free_async)(CuPointer, CuStream) = nullptr;
};

class GpuMachine {
 public:
  // Error where there is no GPU.
  [[nodiscard]] static Result<std::unique_ptr<GpuMachine>> open();
  ~GpuMachine();

  [[nodiscard]] const CudaDriver& driver() const { return context->driver(); }
  [[nodiscard]] Status launch_empty(CuStream stream = nullptr) const;
  // One thread that runs for so long by the device's timer.
  [[nodiscard]] Status launch_spin(std::uint64_t ns, CuStream stream = nullptr) const;
  // Reads so many bytes (a multiple of 16) once, on all SMs.
  [[nodiscard]] Status launch_read(CuPointer data, std::uint64_t bytes, CuStream stream = nullptr) const;
  // Writes to address 0: the context is lost afterwards.
  [[nodiscard]] Status launch_fault(CuStream stream = nullptr) const;

  std::shared_ptr<CudaContext> context;
  GpuCalls calls;

 private:
  GpuMachine() = default;
  [[nodiscard]] Status launch(CuFunction function, unsigned blocks, unsigned threads, CuStream stream,
                              void** arguments) const;

  std::shared_ptr<TimingKernels> kernels_;
  CuModule module_ = nullptr;
  CuFunction empty_ = nullptr;
  CuFunction spin_ = nullptr;
  CuFunction fault_ = nullptr;
};

}  // namespace stepscope

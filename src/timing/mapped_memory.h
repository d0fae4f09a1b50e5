// Host memory that a device reads and writes in place: for words the host changes while a stream runs.
//
// Pinned and mapped by the driver itself (cuMemHostAlloc). Registering memory of ours was rejected: it works in whole
// pages, so a neighbour on the same page would be registered with it.
#pragma once

#include <cstddef>
#include <memory>

#include "timing/cuda_context.h"

namespace stepscope {

class MappedMemory {
 public:
  // Zeroed. The context has to be current.
  [[nodiscard]] static Result<std::unique_ptr<MappedMemory>> make(std::shared_ptr<CudaContext> context,
                                                                  std::size_t bytes);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  [[nodiscard]] void* host() const { return host_; }
  [[nodiscard]] CuPointer device() const { return device_; }

 private:
  explicit MappedMemory(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}

  std::shared_ptr<CudaContext> context_;
  void* host_ = nullptr;
  CuPointer device_ = 0;
};

}  // namespace stepscope

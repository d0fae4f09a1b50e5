// One allocation, given back with its context current.
#include "timing/mapped_memory.h"

#include <cstring>

namespace stepscope {

Result<std::unique_ptr<MappedMemory>> MappedMemory::make(std::shared_ptr<CudaContext> context, std::size_t bytes) {
  const CudaDriver& driver = context->driver();
  const RelaxedCapture relaxed(driver);
  std::unique_ptr<MappedMemory> memory(new MappedMemory(std::move(context)));
  CuResult result = driver.host_alloc(&memory->host_, bytes, kCuHostAllocDeviceMap);
  if (result != kCuSuccess) return cuda_error(driver, result, "cuMemHostAlloc");
  std::memset(memory->host_, 0, bytes);
  result = driver.host_device_pointer(&memory->device_, memory->host_, 0);
  if (result != kCuSuccess) return cuda_error(driver, result, "cuMemHostGetDevicePointer");
  return memory;
}

MappedMemory::~MappedMemory() {
  const CurrentContext current(*context_);
  const RelaxedCapture relaxed(context_->driver());
  if (host_ != nullptr) (void)context_->driver().host_free(host_);
}

}  // namespace stepscope

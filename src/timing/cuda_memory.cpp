// The default pool's counters, cuMemGetInfo and NVML's process list.
#include "timing/cuda_memory.h"

#include <unistd.h>

#include <algorithm>

#include "timing/nvml.h"

namespace stepscope {
namespace {

struct Counter {
  int attribute;
  std::uint64_t value = 0;
};

Error not_in_use(int device) {
  return Error{ErrorCode::kNotFound, "this process does not use CUDA device " + std::to_string(device), {}};
}

Result<CuMemPool> default_pool(const CudaContext& context) {
  const CudaDriver& driver = context.driver();
  if (driver.default_pool == nullptr || driver.pool_get == nullptr || driver.pool_set == nullptr) {
    return Error{ErrorCode::kUnsupported, "the CUDA driver is too old for memory pools", {}};
  }
  CuMemPool pool = nullptr;
  const CuResult result = driver.default_pool(&pool, context.device());
  if (result != kCuSuccess) return cuda_error(driver, result, "cuDeviceGetDefaultMemPool");
  return pool;
}

}  // namespace

Result<std::shared_ptr<CudaContext>> find_context_in_use(int device) {
  const CudaDriver* driver = find_loaded_cuda_driver();
  if (driver == nullptr) return Error{ErrorCode::kNotFound, "this process does not use CUDA", {}};
  Result<CuDevice> in_use = find_device_in_use(*driver);
  if (!in_use) return in_use.error();
  if (device != -1 && device != *in_use) {
    CuDevice handle = 0;
    unsigned flags = 0;
    int active = 0;
    if (driver->device_get(&handle, device) != kCuSuccess) return not_in_use(device);
    if (driver->primary_state(handle, &flags, &active) != kCuSuccess || active == 0) return not_in_use(device);
  }
  return CudaContext::open(device == -1 ? *in_use : device);
}

DeviceMemory read_cuda_memory(const CudaContext& context) {
  const CudaDriver& driver = context.driver();
  DeviceMemory memory;
  memory.device = context.device();
  memory.device_name = context.device_name();
  {
    const CurrentContext current(context);
    const RelaxedCapture relaxed(driver);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (driver.memory_info(&free_bytes, &total_bytes) == kCuSuccess) {
      memory.free_bytes = static_cast<std::int64_t>(free_bytes);
      memory.total_bytes = static_cast<std::int64_t>(total_bytes);
    }
  }
  char bus_id[32] = "";
  const Nvml* nvml = find_nvml();
  if (nvml != nullptr && driver.device_pci_bus_id(bus_id, sizeof bus_id, context.device()) == kCuSuccess) {
    memory.process_bytes = find_process_bytes(*nvml, bus_id, static_cast<unsigned>(getpid()));
  }
  return memory;
}

Result<AllocatorMemory> read_default_pool(const CudaContext& context) {
  Result<CuMemPool> pool = default_pool(context);
  if (!pool) return pool.error();
  Counter used{kCuPoolUsedCurrent};
  Counter max_used{kCuPoolUsedHigh};
  Counter reserved{kCuPoolReservedCurrent};
  Counter max_reserved{kCuPoolReservedHigh};
  for (Counter* counter : {&used, &max_used, &reserved, &max_reserved}) {
    const CuResult result = context.driver().pool_get(*pool, counter->attribute, &counter->value);
    if (result != kCuSuccess) return cuda_error(context.driver(), result, "cuMemPoolGetAttribute");
  }
  AllocatorMemory memory{.source = "CUDA memory pool"};
  if (reserved.value == 0 && max_reserved.value == 0) return memory;  // never used
  const auto bytes = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  memory.allocated_bytes = bytes(used.value);
  memory.reserved_bytes = bytes(reserved.value);
  // A reset sets a peak to 0 until the next allocation; what is in use now was in use since.
  memory.max_allocated_bytes = bytes(std::max(used.value, max_used.value));
  memory.max_reserved_bytes = bytes(std::max(reserved.value, max_reserved.value));
  return memory;
}

Status reset_default_pool_peak(const CudaContext& context) {
  Result<CuMemPool> pool = default_pool(context);
  if (!pool) return pool.error();
  for (int attribute : {kCuPoolUsedHigh, kCuPoolReservedHigh}) {
    std::uint64_t zero = 0;  // the only value that may be set
    const CuResult result = context.driver().pool_set(*pool, attribute, &zero);
    if (result != kCuSuccess) return cuda_error(context.driver(), result, "cuMemPoolSetAttribute");
  }
  return Done{};
}

}  // namespace stepscope

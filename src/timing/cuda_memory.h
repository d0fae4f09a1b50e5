// What CUDA itself knows of a device's memory: its default memory pool, what is free, what this process uses.
//
// The pool serves cudaMallocAsync. One that was never used says nothing about the process (which may take its memory
// otherwise), so its numbers are missing and not 0.
#pragma once

#include <memory>

#include "stepscope/memory_stats.h"
#include "timing/cuda_context.h"

namespace stepscope {

// The context of a device that this process uses already; -1 as in memory_stats.h. Error (kNotFound) otherwise: starts
// nothing.
[[nodiscard]] Result<std::shared_ptr<CudaContext>> find_context_in_use(int device);

// Of the device: total, free, this process. Without the allocators.
[[nodiscard]] DeviceMemory read_cuda_memory(const CudaContext& context);

[[nodiscard]] Result<AllocatorMemory> read_default_pool(const CudaContext& context);
[[nodiscard]] Status reset_default_pool_peak(const CudaContext& context);

}  // namespace stepscope

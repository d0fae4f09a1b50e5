// Device memory of the running process: how much is in use now, how much was at most, and who says so.
//
// A device's memory is handed out by allocators (CUDA's own memory pool, PyTorch's caching allocator), and each knows
// two things: what it gave out (allocated) and what it holds from the device (reserved). Beside them, the device and
// the driver know what is free and what this process uses in all, context and code included. None of these numbers is
// another, so each comes with its source, and what nobody knows is missing, never 0: memory taken by cudaMalloc, for
// one, is in the process's use and in no allocator.
//
//   train_step();
//   printf("%s", memory_summary().c_str());
//
// When to read: an allocator counts what the host asked for, so a peak is true once the step was launched. But the
// memory pool of CUDA frees when the stream gets there, and memory_allocated() after a step without a synchronization
// is that of a moment somewhere in it. So reading a step's numbers one synchronizes first, and this is itself a
// synchronization in each step: it takes the host's lead and can cost as much as a hidden one. Read it in a few steps,
// or at the end: peaks are kept.
//
// `device`: the CUDA ordinal; -1: of the thread's current context, else the first that this process uses. Nothing here
// starts CUDA: in a process that does not use it everything is missing. Thread-safe.
// Definitions: docs/glossary.md, "allocated, reserved".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/result.h"

namespace stepscope {

// What one allocator knows of a device. Peaks are since the start or since the last reset.
struct AllocatorMemory {
  std::string source;  // "CUDA memory pool", "PyTorch"
  std::optional<std::int64_t> allocated_bytes = std::nullopt;
  std::optional<std::int64_t> max_allocated_bytes = std::nullopt;
  std::optional<std::int64_t> reserved_bytes = std::nullopt;
  std::optional<std::int64_t> max_reserved_bytes = std::nullopt;
};

struct DeviceMemory {
  int device = 0;
  std::string device_name;
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> free_bytes;  // left by all processes together
  std::optional<std::int64_t>
      process_bytes;                        // of this process, by NVML; missing where NVML does not see it (containers)
  std::vector<AllocatorMemory> allocators;  // latest registered first, CUDA's memory pool last
};

// An allocator that can be asked. Called from any thread, one call at a time. It may call the functions of this header;
// what it asks for then comes from CUDA's memory pool alone, not from providers.
class MemoryProvider {
 public:
  virtual ~MemoryProvider() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Members it does not know, or has no use of on this device, are missing.
  [[nodiscard]] virtual Result<AllocatorMemory> read(int device) = 0;
  [[nodiscard]] virtual Status reset_peak(int device) = 0;
};

// Adds an allocator; CUDA's memory pool is always there.
void register_memory_provider(std::shared_ptr<MemoryProvider> provider);
// A call that is under way on another thread goes on; the provider lives until it has ended.
void unregister_memory_provider(const MemoryProvider* provider);

// Everything that is known. Errors: kNotFound (this process does not use CUDA, or has no such device), and what a
// provider or the driver says.
[[nodiscard]] Result<DeviceMemory> read_device_memory(int device = -1);

// One number: of the first allocator in DeviceMemory::allocators that knows it (not a sum: an allocator may sit on top
// of another). Missing when none does, or on an error.
[[nodiscard]] std::optional<std::int64_t> memory_allocated(int device = -1);
[[nodiscard]] std::optional<std::int64_t> max_memory_allocated(int device = -1);
[[nodiscard]] std::optional<std::int64_t> memory_reserved(int device = -1);
[[nodiscard]] std::optional<std::int64_t> max_memory_reserved(int device = -1);

// The peaks of all allocators start anew from what is in use now. All are tried; the first error is returned.
Status reset_peak_memory_stats(int device = -1);

// read_device_memory as a table of about 90 columns, or the sentence that says why there is none.
[[nodiscard]] std::string memory_summary(int device = -1);

}  // namespace stepscope

// What this process uses of each GPU in all, by NVML: contexts, code, NCCL's buffers and workspaces are in no
// allocator.
//
// NVML is the library of nvidia-smi; asking it starts no context and stops no stream, but a question costs milliseconds
// and the first one tens of them. So the worker asks, at the edges of windows, and never the program's threads. It is
// found at run time, and called through a table that a test can fill. It numbers GPUs as the machine does, so devices
// are named by their PCI address. Types and numbers as in nvml.h of driver 580; src/timing/nvml.h is the library's own
// use of it, which the agent cannot link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/records.h"

namespace stepscope::agent {

using NvmlDevice = void*;
inline constexpr int kNvmlSuccess = 0;
inline constexpr int kNvmlInsufficientSize = 7;

struct NvmlProcess {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long used_bytes;  // all ones: not known
  unsigned gpu_instance, compute_instance;
};
struct NvmlMemory {  // nvmlMemory_t
  unsigned long long total_bytes, free_bytes, used_bytes;
};
struct NvmlTable {
  int (*init)() = nullptr;
  int (*device_by_pci)(const char* address, NvmlDevice* device) = nullptr;
  int (*compute_processes)(NvmlDevice device, unsigned* count, NvmlProcess* processes) = nullptr;
  int (*memory)(NvmlDevice device, NvmlMemory* memory) = nullptr;
};

// A GPU that this process has a context on.
struct UsedDevice {
  std::int32_t number = 0;
  std::string pci_address;
};

// A level for each device that NVML knows; of this process where it lists it (in a container it may not, which has
// process numbers of its own), of all processes together always.
[[nodiscard]] std::vector<WireMemoryLevel> ask_process_memory(const NvmlTable& nvml,
                                                              const std::vector<UsedDevice>& devices, unsigned pid);
// The same with the NVML and the devices of this process; empty without. For the worker.
[[nodiscard]] std::vector<WireMemoryLevel> sample_process_memory() noexcept;

}  // namespace stepscope::agent

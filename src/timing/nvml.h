// NVIDIA's management library, for the one thing the driver does not tell: what this process uses of a device in all.
//
// Found at run time as the driver is (see cuda_driver.h). Types and values as in nvml.h of driver 580; the process list
// is version 3, there since driver 510 (2022); an older one leaves the number missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace stepscope {

using NvmlResult = int;  // nvmlReturn_t
using NvmlDevice = struct NvmlDeviceTag*;
inline constexpr NvmlResult kNvmlSuccess = 0;
inline constexpr NvmlResult kNvmlInsufficientSize = 7;

struct NvmlProcess {  // nvmlProcessInfo_v2_t
  unsigned pid;
  unsigned long long used_bytes;  // all ones: not known
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct Nvml {
  NvmlResult (*init)() = nullptr;
  NvmlResult (*device_by_pci)(const char* id, NvmlDevice* device) = nullptr;
  NvmlResult (*compute_processes)(NvmlDevice device, unsigned* count, NvmlProcess* processes) = nullptr;
};

// The process's NVML, initialised; nullptr when there is none or it is too old.
[[nodiscard]] const Nvml* find_nvml();
// Tests: as install_cuda_driver.
void install_nvml(const Nvml* nvml);

// Bytes that process `pid` uses on the device with this PCI bus id. Missing when NVML does not list it: a container has
// process numbers of its own, and NVML those of the host.
[[nodiscard]] std::optional<std::int64_t> find_process_bytes(const Nvml& nvml, const std::string& pci_bus_id,
                                                             unsigned pid);

}  // namespace stepscope

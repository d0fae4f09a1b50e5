// Contexts are asked for by cuDevicePrimaryCtxGetState, which makes none.
#include "agent/process_memory.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>

#include "agent/parts.h"

namespace stepscope::agent {
namespace {

template <class Function>
bool take(void* library, const char* name, Function& function) {
  function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// Never unloaded: NVML counts its users, and the process ends soon enough.
const NvmlTable* find_nvml() {
  static const NvmlTable* const found = []() -> const NvmlTable* {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    static NvmlTable table;
    const bool is_whole = take(library, "nvmlInit_v2", table.init) &&
                          take(library, "nvmlDeviceGetHandleByPciBusId_v2", table.device_by_pci) &&
                          take(library, "nvmlDeviceGetComputeRunningProcesses_v3", table.compute_processes) &&
                          take(library, "nvmlDeviceGetMemoryInfo", table.memory);
    if (is_whole && table.init() == kNvmlSuccess) return &table;
    remark("NVML is not there or too old: what the process uses beside its allocators is not known");
    return nullptr;
  }();
  return found;
}

std::vector<UsedDevice> find_used_devices() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  int (*count_devices)(int*) = nullptr;
  int (*get_device)(int*, int) = nullptr;
  int (*get_address)(char*, int, int) = nullptr;
  int (*get_context_state)(int, unsigned*, int*) = nullptr;
  const bool is_whole = take(driver, "cuDeviceGetCount", count_devices) && take(driver, "cuDeviceGet", get_device) &&
                        take(driver, "cuDeviceGetPCIBusId", get_address) &&
                        take(driver, "cuDevicePrimaryCtxGetState", get_context_state);
  std::vector<UsedDevice> used;
  int count = 0;
  if (!is_whole || count_devices(&count) != 0) return used;
  for (int number = 0; number < count; ++number) {
    int device = 0, is_active = 0;
    unsigned flags = 0;
    char address[32] = {};
    if (get_device(&device, number) != 0 || get_context_state(device, &flags, &is_active) != 0 || is_active == 0) {
      continue;
    }
    if (get_address(address, sizeof address - 1, device) == 0) used.push_back({number, address});
  }
  return used;
}

MaybeInt ask_own_bytes(const NvmlTable& nvml, NvmlDevice device, unsigned pid) {
  // Processes may start between asking for their number and asking for them: room for a few more, and a few tries.
  std::vector<NvmlProcess> processes(8);
  for (int tries = 0; tries < 3; ++tries) {
    auto count = static_cast<unsigned>(processes.size());
    const int result = nvml.compute_processes(device, &count, processes.data());
    if (result == kNvmlInsufficientSize) {
      processes.resize(std::size_t{count} + 8);
      continue;
    }
    if (result != kNvmlSuccess) return {};
    processes.resize(std::min<std::size_t>(count, processes.size()));
    for (const NvmlProcess& process : processes) {
      if (process.pid == pid && process.used_bytes != ~0ULL) return static_cast<std::int64_t>(process.used_bytes);
    }
    return {};
  }
  return {};
}

}  // namespace

std::vector<WireMemoryLevel> ask_process_memory(const NvmlTable& nvml, const std::vector<UsedDevice>& devices,
                                                unsigned pid) {
  std::vector<WireMemoryLevel> levels;
  for (const UsedDevice& used : devices) {
    NvmlDevice device = nullptr;
    if (nvml.device_by_pci(used.pci_address.c_str(), &device) != kNvmlSuccess) continue;
    WireMemoryLevel level;
    level.time_ns = now_ns();
    level.device_number = used.number;
    level.source = WireMemoryLevelSource::kNvml;
    level.process_bytes = ask_own_bytes(nvml, device, pid);
    if (NvmlMemory memory{}; nvml.memory(device, &memory) == kNvmlSuccess) {
      level.device_used_bytes = static_cast<std::int64_t>(memory.used_bytes);
      level.device_total_bytes = static_cast<std::int64_t>(memory.total_bytes);
    }
    if (level.process_bytes.has_value() || level.device_used_bytes.has_value()) levels.push_back(level);
  }
  return levels;
}

std::vector<WireMemoryLevel> sample_process_memory() noexcept try {
  const std::vector<UsedDevice> devices = find_used_devices();
  if (devices.empty()) return {};
  const NvmlTable* const nvml = find_nvml();
  if (nvml == nullptr) return {};
  return ask_process_memory(*nvml, devices, static_cast<unsigned>(getpid()));
} catch (...) {
  return {};
}

}  // namespace stepscope::agent

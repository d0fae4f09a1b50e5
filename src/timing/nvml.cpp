// Loading NVML and asking it about one process.
#include "timing/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace stepscope {
namespace {

std::atomic<const Nvml*> installed_nvml{nullptr};

template <class Function>
bool take_symbol(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
  return function != nullptr;
}

// Never unloaded and never shut down: NVML counts its users, and the process ends soon enough.
const Nvml* load_nvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  static Nvml nvml;
  const bool complete = take_symbol(library, "nvmlInit_v2", nvml.init) &&
                        take_symbol(library, "nvmlDeviceGetHandleByPciBusId_v2", nvml.device_by_pci) &&
                        take_symbol(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.compute_processes);
  return complete && nvml.init() == kNvmlSuccess ? &nvml : nullptr;
}

}  // namespace

const Nvml* find_nvml() {
  if (const Nvml* installed = installed_nvml.load(std::memory_order_acquire)) return installed;
  static const Nvml* nvml = load_nvml();
  return nvml;
}

void install_nvml(const Nvml* nvml) { installed_nvml.store(nvml, std::memory_order_release); }

std::optional<std::int64_t> find_process_bytes(const Nvml& nvml, const std::string& pci_bus_id, unsigned pid) {
  NvmlDevice device = nullptr;
  if (nvml.device_by_pci(pci_bus_id.c_str(), &device) != kNvmlSuccess) return std::nullopt;
  // Processes may start between asking for their number and asking for them: room for a few more, and a few tries.
  std::vector<NvmlProcess> processes;
  for (int tries = 0; tries < 3; ++tries) {
    auto count = static_cast<unsigned>(processes.size());
    const NvmlResult result = nvml.compute_processes(device, &count, processes.empty() ? nullptr : processes.data());
    if (result == kNvmlInsufficientSize) {
      processes.resize(std::size_t{count} + 8);
      continue;
    }
    if (result != kNvmlSuccess) return std::nullopt;
    processes.resize(std::min<std::size_t>(count, processes.size()));
    const auto own = std::find_if(processes.begin(), processes.end(),
                                  [pid](const NvmlProcess& process) { return process.pid == pid; });
    if (own == processes.end() || own->used_bytes == ~0ULL) return std::nullopt;
    return static_cast<std::int64_t>(own->used_bytes);
  }
  return std::nullopt;
}

}  // namespace stepscope

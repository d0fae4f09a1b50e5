// Our two functions stay in the slots for the life of the process and pass every call on.
#include "agent/torch_memory.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include "agent/imported_function.h"
#include "agent/loaded_library.h"
#include "agent/parts.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

constexpr const char* kReport = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr const char* kIsEnabled = "_ZN3c1022memoryProfilingEnabledEv";

// c10::Device, passed by value: two bytes since 1.8.
struct TorchDevice {
  std::int8_t type;
  std::int8_t index;  // -1: the current one
};
using Report = void (*)(void*, std::int64_t, std::size_t, std::size_t, TorchDevice);
using IsEnabled = bool (*)();

// PyTorch's own; set before the first slot is written.
std::atomic<Report> torch_report{nullptr};
std::atomic<IsEnabled> torch_is_enabled{nullptr};
std::atomic<bool> is_listening{false};

void write_allocation(const void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                      TorchDevice device) noexcept {
  HookEvent event;
  event.kind = HookEventKind::kAllocation;
  event.start_ns = now_ns();
  event.end_ns = static_cast<std::int64_t>(reserved);
  event.a = reinterpret_cast<std::uintptr_t>(address);
  event.b = static_cast<std::uint64_t>(bytes);
  event.c = allocated;
  // Of the CPU there is one: PyTorch's traces say -1.
  const int number = device.type == 0 ? 0 : int{device.index} + 1;
  event.flags = static_cast<std::uint16_t>((static_cast<unsigned>(device.type) & 0xFF) << 8 |
                                           (static_cast<unsigned>(number) & 0xFF));
  emit_event(event);
}

void our_report(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved, TorchDevice device) {
  if (is_listening.load(std::memory_order_relaxed) && hook_events_on.load(std::memory_order_relaxed)) {
    write_allocation(address, bytes, allocated, reserved, device);
  }
  torch_report.load(std::memory_order_relaxed)(address, bytes, allocated, reserved, device);
}

bool our_is_enabled() {
  return is_listening.load(std::memory_order_relaxed) || torch_is_enabled.load(std::memory_order_relaxed)();
}

bool find_torch_functions() {
  if (torch_report.load() != nullptr) return true;
  const LoadedLibrary library = find_loaded_library("libc10.so");
  if (library.handle == nullptr) return false;
  void* const report = dlsym(library.handle, kReport);
  void* const is_enabled = dlsym(library.handle, kIsEnabled);
  if (report == nullptr || is_enabled == nullptr) return false;
  torch_is_enabled.store(reinterpret_cast<IsEnabled>(is_enabled));
  torch_report.store(reinterpret_cast<Report>(report));
  return true;
}

}  // namespace

bool prepare_torch_memory() noexcept {
  static std::uint64_t known_count = 0;  // under the lock of what is registered
  static bool is_prepared = false;
  const std::uint64_t count = loaded_object_count();
  if (count == known_count) return is_prepared;
  known_count = count;
  std::size_t reports = 0;
  if (find_torch_functions()) {
    for (const char* library : {"libc10", "libtorch_c"}) {
      reports += replace_imports(library, kReport, reinterpret_cast<const void*>(our_report));
      (void)replace_imports(library, kIsEnabled, reinterpret_cast<const void*>(our_is_enabled));
    }
  }
  is_prepared = reports > 0;
  if (!is_prepared) {
    complain("no allocations of PyTorch " + torch_version() + ": its allocators report in a way that is not known");
  }
  return is_prepared;
}

void hear_torch_memory() noexcept { is_listening.store(prepare_torch_memory(), std::memory_order_relaxed); }

void leave_torch_memory() noexcept { is_listening.store(false, std::memory_order_relaxed); }

}  // namespace stepscope::agent

// The list of providers, the short questions, and the table.
//
// An old driver without pools is no error of the whole: the pool's line is then missing, the rest stays.
//
// A provider may itself ask for memory (an allocator on top of CUDA's pool does), register or unregister: the list is
// therefore not locked while a provider works, and a provider that asks is told of the pool alone. One mutex for both
// would be taken twice by one thread.
#include "stepscope/memory_stats.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "timing/cuda_memory.h"

namespace stepscope {
namespace {

using Bytes = std::optional<std::int64_t>;

std::mutex providers_mutex;
std::vector<std::shared_ptr<MemoryProvider>> providers;  // latest last

std::vector<std::shared_ptr<MemoryProvider>> registered_providers() {
  const std::lock_guard lock(providers_mutex);
  return providers;
}

// One call of a provider at a time, as MemoryProvider promises.
std::mutex calls_mutex;
thread_local bool is_in_provider = false;
class ProviderCalls {
 public:
  ProviderCalls() { is_in_provider = true; }
  ~ProviderCalls() { is_in_provider = false; }
  ProviderCalls(const ProviderCalls&) = delete;
  ProviderCalls& operator=(const ProviderCalls&) = delete;

 private:
  std::lock_guard<std::mutex> lock_{calls_mutex};
};

Status read_providers(DeviceMemory& memory) {
  if (is_in_provider) return Done{};
  const auto registered = registered_providers();
  const ProviderCalls calls;
  for (auto provider = registered.rbegin(); provider != registered.rend(); ++provider) {
    Result<AllocatorMemory> read = (*provider)->read(memory.device);
    if (!read) return read.error();
    memory.allocators.push_back(std::move(read).value());
  }
  return Done{};
}

Bytes first_known(int device, Bytes AllocatorMemory::*member) {
  const Result<DeviceMemory> memory = read_device_memory(device);
  if (!memory) return std::nullopt;
  for (const AllocatorMemory& allocator : memory->allocators) {
    if (allocator.*member) return allocator.*member;
  }
  return std::nullopt;
}

// "1.50 GiB"; powers of 1024, as the tools of CUDA and PyTorch print them.
std::string bytes_text(Bytes bytes) {
  if (!bytes) return "-";
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(*bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", unit == 0 ? 0 : 2, value, kUnits[unit]);
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool is_left) {
  const std::string space(width > text.size() ? width - text.size() : 0, ' ');
  return is_left ? text + space : space + text;
}

std::string line(const std::string& name, std::initializer_list<std::string> cells) {
  std::string text = "  " + padded(name, 34, true);
  for (const std::string& cell : cells) text += padded(cell, 14, false);
  return text + "\n";
}

}  // namespace

void register_memory_provider(std::shared_ptr<MemoryProvider> provider) {
  if (provider == nullptr) return;
  std::lock_guard lock(providers_mutex);
  providers.push_back(std::move(provider));
}

void unregister_memory_provider(const MemoryProvider* provider) {
  std::lock_guard lock(providers_mutex);
  std::erase_if(providers, [provider](const auto& registered) { return registered.get() == provider; });
}

Result<DeviceMemory> read_device_memory(int device) {
  Result<std::shared_ptr<CudaContext>> context = find_context_in_use(device);
  if (!context) return context.error();
  DeviceMemory memory = read_cuda_memory(**context);
  if (Status read = read_providers(memory); !read) return read.error();
  Result<AllocatorMemory> pool = read_default_pool(**context);
  if (pool) {
    memory.allocators.push_back(std::move(pool).value());
  } else if (pool.error().code != ErrorCode::kUnsupported) {
    return pool.error();
  }
  return memory;
}

Bytes memory_allocated(int device) { return first_known(device, &AllocatorMemory::allocated_bytes); }
Bytes max_memory_allocated(int device) { return first_known(device, &AllocatorMemory::max_allocated_bytes); }
Bytes memory_reserved(int device) { return first_known(device, &AllocatorMemory::reserved_bytes); }
Bytes max_memory_reserved(int device) { return first_known(device, &AllocatorMemory::max_reserved_bytes); }

Status reset_peak_memory_stats(int device) {
  Result<std::shared_ptr<CudaContext>> context = find_context_in_use(device);
  if (!context) return context.error();
  Status first = Done{};
  const auto note = [&first](Status status) {
    if (first && !status) first = std::move(status);
  };
  if (!is_in_provider) {
    const auto registered = registered_providers();
    const ProviderCalls calls;
    for (const auto& provider : registered) note(provider->reset_peak((*context)->device()));
  }
  Status pool = reset_default_pool_peak(**context);
  if (pool || pool.error().code != ErrorCode::kUnsupported) note(std::move(pool));
  return first;
}

std::string memory_summary(int device) {
  const Result<DeviceMemory> memory = read_device_memory(device);
  if (!memory) return "no memory summary: " + memory.error().to_string() + "\n";
  std::string text = "Memory of cuda:" + std::to_string(memory->device) + " (" + memory->device_name + ")\n";
  text +=
      line("device, all processes", {bytes_text(memory->total_bytes), "  " + bytes_text(memory->free_bytes) + " free"});
  text += line("this process, context included", {bytes_text(memory->process_bytes)});
  text += line("", {"allocated", "peak", "reserved", "peak"});
  for (const AllocatorMemory& allocator : memory->allocators) {
    text += line(allocator.source, {bytes_text(allocator.allocated_bytes), bytes_text(allocator.max_allocated_bytes),
                                    bytes_text(allocator.reserved_bytes), bytes_text(allocator.max_reserved_bytes)});
  }
  return text;
}

}  // namespace stepscope

// Asks libcuda and libcudart only if the program has loaded them (RTLD_NOLOAD), and only what needs no context: a
// question must not create one, or start the driver in a program that does not use it.
#include "agent/gpu_devices.h"

#include <dlfcn.h>

namespace stepscope::agent {
namespace {

constexpr int kSmCount = 16;       // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int kComputeMajor = 75;  // ..._COMPUTE_CAPABILITY_MAJOR
constexpr int kComputeMinor = 76;

template <class Function>
Function find(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
}

void* loaded(const char* file) { return dlopen(file, RTLD_LAZY | RTLD_NOLOAD); }

}  // namespace

void write_devices(CaptureFile& file) {
  void* const driver = loaded("libcuda.so.1");
  const auto count_devices = find<int (*)(int*)>(driver, "cuDeviceGetCount");
  const auto get_device = find<int (*)(int*, int)>(driver, "cuDeviceGet");
  const auto get_name = find<int (*)(char*, int, int)>(driver, "cuDeviceGetName");
  const auto get_memory = find<int (*)(std::size_t*, int)>(driver, "cuDeviceTotalMem_v2");
  const auto get_attribute = find<int (*)(int*, int, int)>(driver, "cuDeviceGetAttribute");
  if (count_devices == nullptr || get_device == nullptr || get_name == nullptr) return;
  int count = 0;
  if (count_devices(&count) != 0) return;
  for (int number = 0; number < count; ++number) {
    int device = 0;
    char name[256] = {};
    if (get_device(&device, number) != 0 || get_name(name, sizeof name - 1, device) != 0) continue;
    WireDevice described;
    described.number = number;
    described.name = file.intern(name);
    if (std::size_t bytes = 0; get_memory != nullptr && get_memory(&bytes, device) == 0) {
      described.memory_bytes = static_cast<std::int64_t>(bytes);
    }
    const auto attribute = [&](int which) {
      int value = 0;
      return get_attribute != nullptr && get_attribute(&value, which, device) == 0 ? MaybeInt{value} : MaybeInt{};
    };
    described.sm_count = attribute(kSmCount);
    described.compute_major = attribute(kComputeMajor);
    described.compute_minor = attribute(kComputeMinor);
    file.on(described);
  }
}

void add_cuda_versions(CaptureInfo& info) {
  int version = 0;
  const auto driver = find<int (*)(int*)>(loaded("libcuda.so.1"), "cuDriverGetVersion");
  if (driver != nullptr && driver(&version) == 0) info.cuda_driver_version = version;
  for (const char* file : {"libcudart.so.13", "libcudart.so.12"}) {
    const auto runtime = find<int (*)(int*)>(loaded(file), "cudaRuntimeGetVersion");
    if (runtime != nullptr && runtime(&version) == 0) info.cuda_runtime_version = version;
  }
}

}  // namespace stepscope::agent

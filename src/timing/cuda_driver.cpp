// Finding the driver and putting its errors into words.
//
// A driver that was found is kept; one that was not is looked for again at the next call, since a container can be
// given its GPU late and the search costs microseconds. RTLD_NOLOAD tells whether the program itself has brought CUDA
// in, so that a default clock never starts it.
#include "timing/cuda_driver.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <optional>

namespace stepscope {
namespace {

constexpr const char* kDriverLibrary = "libcuda.so.1";

std::atomic<const CudaDriver*> installed_driver{nullptr};

template <class Function>
void take_symbol(void* library, const char* symbol, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, symbol));
}

Result<CudaDriver> fill_table(void* library, const char* name) {
  CudaDriver driver;
  const char* missing = nullptr;
#define STEPSCOPE_TAKE(member, symbol, arguments) take_symbol(library, #symbol, driver.member);
#define STEPSCOPE_CHECK(member, symbol, arguments) \
  if (driver.member == nullptr && missing == nullptr) missing = #symbol;
  STEPSCOPE_CUDA_REQUIRED(STEPSCOPE_TAKE)
  STEPSCOPE_CUDA_OPTIONAL(STEPSCOPE_TAKE)
  STEPSCOPE_CUDA_REQUIRED(STEPSCOPE_CHECK)
#undef STEPSCOPE_TAKE
#undef STEPSCOPE_CHECK
  if (missing == nullptr) return driver;
  return Error{
      ErrorCode::kUnsupported,
      "the CUDA driver " + std::string(name) + " has no " + missing + ": it is too old (CUDA 10.1 or newer is needed)",
      {}};
}

// The table, made once per process. Never freed: clocks of static storage may use it until the very end.
Result<const CudaDriver*> loaded_table() {
  static std::mutex mutex;
  static const CudaDriver* table = nullptr;
  std::lock_guard lock(mutex);
  if (table == nullptr) {
    Result<CudaDriver> loaded = load_cuda_driver(kDriverLibrary);
    if (!loaded) return loaded.error();
    table = new CudaDriver(*loaded);
  }
  return table;
}

ErrorCode code_of(CuResult result) {
  switch (result) {
    case kCuErrorNoDevice:
      return ErrorCode::kNotFound;
    case kCuErrorInvalidValue:
    case kCuErrorInvalidDevice:
    case kCuErrorInvalidContext:
    case kCuErrorInvalidHandle:
    case kCuErrorNotReady:
      return ErrorCode::kInvalidArgument;
    case kCuErrorNotSupported:
      return ErrorCode::kUnsupported;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Result<CudaDriver> load_cuda_driver(const char* library) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{ErrorCode::kNotFound, std::string("no CUDA driver: ") + (why != nullptr ? why : library), {}};
  }
  Result<CudaDriver> driver = fill_table(handle, library);
  if (!driver) dlclose(handle);
  return driver;
}

Result<const CudaDriver*> open_cuda_driver() {
  const CudaDriver* driver = installed_driver.load(std::memory_order_acquire);
  if (driver == nullptr) {
    Result<const CudaDriver*> loaded = loaded_table();
    if (!loaded) return loaded.error();
    driver = *loaded;
  }
  if (Status done = cuda_status(*driver, driver->init(0), "cuInit"); !done) return done.error();
  return driver;
}

const CudaDriver* find_loaded_cuda_driver() {
  if (const CudaDriver* driver = installed_driver.load(std::memory_order_acquire)) return driver;
  void* handle = dlopen(kDriverLibrary, RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  dlclose(handle);  // gives back this look's count, not the program's own
  Result<const CudaDriver*> loaded = loaded_table();
  return loaded ? *loaded : nullptr;
}

void install_cuda_driver(const CudaDriver* driver) { installed_driver.store(driver, std::memory_order_release); }

Error cuda_error(const CudaDriver& driver, CuResult result, std::string_view call) {
  const char* name = nullptr;
  const char* text = nullptr;
  std::string message = std::string(call) + ": ";
  if (driver.error_name(result, &name) != kCuSuccess || name == nullptr) {
    return Error{code_of(result), message + "CUDA error " + std::to_string(result), {}};
  }
  message += name;
  if (driver.error_string(result, &text) == kCuSuccess && text != nullptr) message += " (" + std::string(text) + ")";
  return Error{code_of(result), message, {}};
}

Status cuda_status(const CudaDriver& driver, CuResult result, std::string_view call) {
  if (result == kCuSuccess) return Done{};
  return cuda_error(driver, result, call);
}

}  // namespace stepscope

// The CUDA driver as a table of function pointers, found in libcuda.so.1 when first asked for.
//
// No CUDA header and no link to CUDA: a program with these timers has to start on a machine without a GPU, and to build
// where no toolkit is installed. The driver's C interface is stable (a changed function gets a new suffix, as
// cuMemAlloc_v2, and the old symbol stays), so the few types are declared here, each as in cuda.h of CUDA 13.0. The
// symbols are taken by name: cuGetProcAddress would only add the per-thread-stream variants, which we do not use.
// The same table filled with functions of a test (FakeCuda) runs all code of this room without a GPU.
//
// Left out on purpose: the CUDA runtime (libcudart). It is often linked statically, so it cannot be found by name; a
// cudaStream_t is a CUstream and an error of one is seen by the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stepscope {

using CuResult = int;  // enum CUresult; 0 is success
using CuDevice = int;  // ordinal
using CuContext = struct CuContextTag*;
using CuStream = struct CuStreamTag*;  // nullptr: the legacy default stream
using CuEvent = struct CuEventTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuMemPool = struct CuMemPoolTag*;
using CuPointer = unsigned long long;  // CUdeviceptr on 64-bit systems

// Values of cuda.h's enums that are used here.
inline constexpr CuResult kCuSuccess = 0;
inline constexpr CuResult kCuErrorInvalidValue = 1;
inline constexpr CuResult kCuErrorNotInitialized = 3;
inline constexpr CuResult kCuErrorNoDevice = 100;
inline constexpr CuResult kCuErrorInvalidDevice = 101;
inline constexpr CuResult kCuErrorInvalidContext = 201;
inline constexpr CuResult kCuErrorInvalidHandle = 400;
inline constexpr CuResult kCuErrorNotReady = 600;
inline constexpr CuResult kCuErrorLaunchFailed = 719;
inline constexpr CuResult kCuErrorNotSupported = 801;
inline constexpr CuResult kCuErrorCaptureUnsupported = 900;
inline constexpr CuResult kCuErrorCaptureImplicit = 906;
inline constexpr int kCuAttributeClockRateKhz = 13;
inline constexpr int kCuAttributeMultiprocessorCount = 16;
inline constexpr int kCuAttributeL2CacheBytes = 38;
inline constexpr int kCuCaptureModeRelaxed = 2;
inline constexpr int kCuPoolReservedCurrent = 5;
inline constexpr int kCuPoolReservedHigh = 6;
inline constexpr int kCuPoolUsedCurrent = 7;
inline constexpr int kCuPoolUsedHigh = 8;
inline constexpr unsigned kCuHostAllocDeviceMap = 2;
inline constexpr unsigned kCuWaitValueGeq = 0;  // until (int32)(*word - value) >= 0

// X(member, symbol, arguments): a driver lacks none of these since CUDA 10.1 (2019); without one the table is not made.
#define STEPSCOPE_CUDA_REQUIRED(X)                                                                                   \
  X(init, cuInit, (unsigned flags))                                                                                  \
  X(driver_version, cuDriverGetVersion, (int* version))                                                              \
  X(error_name, cuGetErrorName, (CuResult result, const char** text))                                                \
  X(error_string, cuGetErrorString, (CuResult result, const char** text))                                            \
  X(device_count, cuDeviceGetCount, (int* count))                                                                    \
  X(device_get, cuDeviceGet, (CuDevice * device, int ordinal))                                                       \
  X(device_name, cuDeviceGetName, (char* name, int size, CuDevice device))                                           \
  X(device_attribute, cuDeviceGetAttribute, (int* value, int attribute, CuDevice device))                            \
  X(device_pci_bus_id, cuDeviceGetPCIBusId, (char* id, int size, CuDevice device))                                   \
  X(primary_retain, cuDevicePrimaryCtxRetain, (CuContext * context, CuDevice device))                                \
  X(primary_release, cuDevicePrimaryCtxRelease_v2, (CuDevice device))                                                \
  X(primary_state, cuDevicePrimaryCtxGetState, (CuDevice device, unsigned* flags, int* active))                      \
  X(context_get_current, cuCtxGetCurrent, (CuContext * context))                                                     \
  X(context_set_current, cuCtxSetCurrent, (CuContext context))                                                       \
  X(context_push, cuCtxPushCurrent_v2, (CuContext context))                                                          \
  X(context_pop, cuCtxPopCurrent_v2, (CuContext * context))                                                          \
  X(context_device, cuCtxGetDevice, (CuDevice * device))                                                             \
  X(context_synchronize, cuCtxSynchronize, ())                                                                       \
  X(event_create, cuEventCreate, (CuEvent * event, unsigned flags))                                                  \
  X(event_destroy, cuEventDestroy_v2, (CuEvent event))                                                               \
  X(event_record, cuEventRecord, (CuEvent event, CuStream stream))                                                   \
  X(event_query, cuEventQuery, (CuEvent event))                                                                      \
  X(event_synchronize, cuEventSynchronize, (CuEvent event))                                                          \
  X(event_elapsed, cuEventElapsedTime, (float* milliseconds, CuEvent begin, CuEvent end))                            \
  X(stream_synchronize, cuStreamSynchronize, (CuStream stream))                                                      \
  X(stream_is_capturing, cuStreamIsCapturing, (CuStream stream, int* status))                                        \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int* mode))                                           \
  X(memory_alloc, cuMemAlloc_v2, (CuPointer * pointer, std::size_t bytes))                                           \
  X(memory_free, cuMemFree_v2, (CuPointer pointer))                                                                  \
  X(memory_info, cuMemGetInfo_v2, (std::size_t * free, std::size_t * total))                                         \
  X(memory_set_async, cuMemsetD8Async, (CuPointer pointer, unsigned char value, std::size_t bytes, CuStream stream)) \
  X(host_alloc, cuMemHostAlloc, (void** pointer, std::size_t bytes, unsigned flags))                                 \
  X(host_device_pointer, cuMemHostGetDevicePointer_v2, (CuPointer * device, void* host, unsigned flags))             \
  X(host_free, cuMemFreeHost, (void* pointer))                                                                       \
  X(module_load, cuModuleLoadData, (CuModule * module, const void* image))                                           \
  X(module_unload, cuModuleUnload, (CuModule module))                                                                \
  X(module_function, cuModuleGetFunction, (CuFunction * function, CuModule module, const char* name))                \
  X(launch, cuLaunchKernel,                                                                                          \
    (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,     \
     unsigned block_z, unsigned shared_bytes, CuStream stream, void** arguments, void** extra))

// nullptr in an older driver: memory pools since CUDA 11.2, waiting for a value in this form since CUDA 11.7.
#define STEPSCOPE_CUDA_OPTIONAL(X)                                                 \
  X(default_pool, cuDeviceGetDefaultMemPool, (CuMemPool * pool, CuDevice device))  \
  X(pool_get, cuMemPoolGetAttribute, (CuMemPool pool, int attribute, void* value)) \
  X(pool_set, cuMemPoolSetAttribute, (CuMemPool pool, int attribute, void* value)) \
  X(stream_wait_value, cuStreamWaitValue32_v2, (CuStream stream, CuPointer word, std::uint32_t value, unsigned how))

struct CudaDriver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration's name and parameters
#define STEPSCOPE_DECLARE(member, symbol, arguments) CuResult(*member) arguments = nullptr;
  STEPSCOPE_CUDA_REQUIRED(STEPSCOPE_DECLARE)
  STEPSCOPE_CUDA_OPTIONAL(STEPSCOPE_DECLARE)
#undef STEPSCOPE_DECLARE
};

// Loads a driver library. Errors: kNotFound (no such library), kUnsupported (it lacks a required function, which is
// named). The library stays loaded: driver objects outlive any scope we could give it.
[[nodiscard]] Result<CudaDriver> load_cuda_driver(const char* library);

// The process's driver, loaded and initialised (cuInit). Errors: as load_cuda_driver, and what cuInit said: kNotFound
// when there is no device.
[[nodiscard]] Result<const CudaDriver*> open_cuda_driver();

// The driver if somebody in this process has loaded it already, else nullptr. Loads nothing and calls no cuInit.
[[nodiscard]] const CudaDriver* find_loaded_cuda_driver();

// Tests: from now on `driver` is the process's driver and counts as loaded; nullptr: the real one again.
void install_cuda_driver(const CudaDriver* driver);

// Success, or an Error that names the call and says what the driver says: "cuEventQuery: CUDA_ERROR_NOT_READY (...)".
[[nodiscard]] Status cuda_status(const CudaDriver& driver, CuResult result, std::string_view call);
[[nodiscard]] Error cuda_error(const CudaDriver& driver, CuResult result, std::string_view call);

}  // namespace stepscope

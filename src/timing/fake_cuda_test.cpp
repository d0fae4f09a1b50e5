// The fake driver's inside, and that it behaves as its users believe.
#include "timing/fake_cuda.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "timing/host_time.h"

namespace stepscope {
namespace {

FakeCuda* machine = nullptr;
constexpr std::uint64_t kPrimaryBase = 0x1000;
constexpr std::uint64_t kHoldFunction = 1;
constexpr std::uint64_t kStampFunction = 2;
constexpr std::uint64_t kReadFunction = 3;

template <class Pointer>
Pointer handle(std::uint64_t number) {
  return reinterpret_cast<Pointer>(number);
}

}  // namespace

// One function a line of the driver's table. `enter` counts the call, passes time and fails on demand.
struct FakeCuda::Functions {
#define STEPSCOPE_ENTER(symbol) \
  if (const CuResult failed = machine->enter(symbol); failed != kCuSuccess) return failed

  static CuResult init(unsigned) {
    STEPSCOPE_ENTER("cuInit");
    return machine->device_count == 0 ? kCuErrorNoDevice : kCuSuccess;
  }
  static CuResult driver_version(int* version) {
    *version = 13000;
    return kCuSuccess;
  }
  static CuResult error_name(CuResult result, const char** text) {
    static const std::map<CuResult, const char*> kNames = {
        {kCuErrorInvalidValue, "CUDA_ERROR_INVALID_VALUE"},   {kCuErrorNotReady, "CUDA_ERROR_NOT_READY"},
        {kCuErrorNoDevice, "CUDA_ERROR_NO_DEVICE"},           {kCuErrorLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
        {kCuErrorNotSupported, "CUDA_ERROR_NOT_SUPPORTED"},   {kCuErrorInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
        {kCuErrorInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
    };
    const auto at = kNames.find(result);
    if (at == kNames.end()) return kCuErrorInvalidValue;
    *text = at->second;
    return kCuSuccess;
  }
  static CuResult error_string(CuResult, const char** text) {
    *text = "as the driver says it";
    return kCuSuccess;
  }
  static CuResult device_count(int* count) {
    STEPSCOPE_ENTER("cuDeviceGetCount");
    *count = machine->device_count;
    return kCuSuccess;
  }
  static CuResult device_get(CuDevice* device, int ordinal) {
    STEPSCOPE_ENTER("cuDeviceGet");
    if (ordinal < 0 || ordinal >= machine->device_count) return kCuErrorInvalidDevice;
    *device = ordinal;
    return kCuSuccess;
  }
  static CuResult device_name(char* name, int size, CuDevice) {
    std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU");
    return kCuSuccess;
  }
  static CuResult device_attribute(int* value, int attribute, CuDevice) {
    STEPSCOPE_ENTER("cuDeviceGetAttribute");
    if (attribute == kCuAttributeClockRateKhz) *value = machine->clock_khz;
    if (attribute == kCuAttributeMultiprocessorCount) *value = machine->sm_count;
    if (attribute == kCuAttributeL2CacheBytes) *value = machine->l2_bytes;
    return kCuSuccess;
  }
  static CuResult device_pci_bus_id(char* id, int size, CuDevice) {
    std::snprintf(id, static_cast<std::size_t>(size), "0000:01:00.0");
    return kCuSuccess;
  }
  static CuResult primary_retain(CuContext* context, CuDevice device) {
    STEPSCOPE_ENTER("cuDevicePrimaryCtxRetain");
    machine->active_primary_contexts.insert(device);
    ++machine->live_objects_;
    *context = handle<CuContext>(kPrimaryBase + static_cast<std::uint64_t>(device));
    return kCuSuccess;
  }
  static CuResult primary_release(CuDevice) {
    --machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult primary_state(CuDevice device, unsigned* flags, int* active) {
    STEPSCOPE_ENTER("cuDevicePrimaryCtxGetState");
    *flags = 0;
    *active = machine->active_primary_contexts.contains(device) ? 1 : 0;
    return kCuSuccess;
  }
  static CuResult context_get_current(CuContext* context) {
    STEPSCOPE_ENTER("cuCtxGetCurrent");
    *context = machine->current;
    return kCuSuccess;
  }
  static CuResult context_set_current(CuContext context) {
    STEPSCOPE_ENTER("cuCtxSetCurrent");
    machine->current = context;
    return kCuSuccess;
  }
  static CuResult context_push(CuContext context) {
    STEPSCOPE_ENTER("cuCtxPushCurrent");
    machine->pushed_.push_back(machine->current);
    machine->current = context;
    return kCuSuccess;
  }
  static CuResult context_pop(CuContext* context) {
    *context = machine->current;
    machine->current = machine->pushed_.back();
    machine->pushed_.pop_back();
    return kCuSuccess;
  }
  static CuResult context_device(CuDevice* device) {
    STEPSCOPE_ENTER("cuCtxGetDevice");
    *device = static_cast<CuDevice>(reinterpret_cast<std::uint64_t>(machine->current) & 0xf);
    return kCuSuccess;
  }
  static CuResult context_synchronize() {
    STEPSCOPE_ENTER("cuCtxSynchronize");
    return machine->wait_for_stream();
  }
  static CuResult event_create(CuEvent* event, unsigned) {
    STEPSCOPE_ENTER("cuEventCreate");
    *event = handle<CuEvent>(++machine->last_handle_);
    machine->events_[*event] = std::nullopt;
    ++machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult event_destroy(CuEvent event) {
    STEPSCOPE_ENTER("cuEventDestroy");
    machine->live_objects_ -= static_cast<std::int64_t>(machine->events_.erase(event));
    return kCuSuccess;
  }
  static CuResult event_record(CuEvent event, CuStream) {
    STEPSCOPE_ENTER("cuEventRecord");
    machine->events_[event] = std::nullopt;
    Op op{.kind = OpKind::kEvent};
    op.event = event;
    machine->queue("event", op);
    return kCuSuccess;
  }
  static CuResult event_query(CuEvent event) {
    STEPSCOPE_ENTER("cuEventQuery");
    machine->run();
    const auto reached = machine->events_.at(event);
    return reached && *reached <= machine->host_ns_ ? kCuSuccess : kCuErrorNotReady;
  }
  static CuResult event_synchronize(CuEvent event) {
    STEPSCOPE_ENTER("cuEventSynchronize");
    machine->run();
    const auto reached = machine->events_.at(event);
    if (!reached) return kCuErrorNotReady;
    machine->host_ns_ = std::max(machine->host_ns_, *reached);
    return kCuSuccess;
  }
  static CuResult event_elapsed(float* milliseconds, CuEvent begin, CuEvent end) {
    STEPSCOPE_ENTER("cuEventElapsedTime");
    const auto first = machine->events_.at(begin);
    const auto second = machine->events_.at(end);
    if (!first || !second || std::max(*first, *second) > machine->host_ns_) return kCuErrorNotReady;
    *milliseconds = static_cast<float>(*second - *first) / 1e6F;
    return kCuSuccess;
  }
  static CuResult stream_synchronize(CuStream) {
    STEPSCOPE_ENTER("cuStreamSynchronize");
    return machine->wait_for_stream();
  }
  static CuResult stream_is_capturing(CuStream, int* status) {
    STEPSCOPE_ENTER("cuStreamIsCapturing");
    *status = machine->capture_status;
    return machine->capture_result;
  }
  static CuResult exchange_capture_mode(int*) { return kCuSuccess; }
  static CuResult memory_alloc(CuPointer* pointer, std::size_t) {
    STEPSCOPE_ENTER("cuMemAlloc");
    *pointer = ++machine->last_handle_;
    ++machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult memory_free(CuPointer) {
    --machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult memory_info(std::size_t* free_bytes, std::size_t* total_bytes) {
    STEPSCOPE_ENTER("cuMemGetInfo");
    *free_bytes = machine->free_bytes;
    *total_bytes = machine->total_bytes;
    return kCuSuccess;
  }
  static CuResult memory_set_async(CuPointer, unsigned char, std::size_t, CuStream) {
    STEPSCOPE_ENTER("cuMemsetD8Async");
    Op op{.kind = OpKind::kWork};
    op.ns = machine->memset_ns;
    machine->queue("memset", op);
    return kCuSuccess;
  }
  static CuResult host_alloc(void** pointer, std::size_t bytes, unsigned) {
    STEPSCOPE_ENTER("cuMemHostAlloc");
    *pointer = std::malloc(bytes);
    ++machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult host_device_pointer(CuPointer* device, void* host, unsigned) {
    STEPSCOPE_ENTER("cuMemHostGetDevicePointer");
    *device = reinterpret_cast<CuPointer>(host);
    return kCuSuccess;
  }
  static CuResult host_free(void* pointer) {
    std::free(pointer);
    --machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult module_load(CuModule* module, const void*) {
    STEPSCOPE_ENTER("cuModuleLoadData");
    *module = handle<CuModule>(++machine->last_handle_);
    ++machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult module_unload(CuModule) {
    --machine->live_objects_;
    return kCuSuccess;
  }
  static CuResult module_function(CuFunction* function, CuModule, const char* name) {
    STEPSCOPE_ENTER("cuModuleGetFunction");
    const std::string_view wanted(name);
    *function = handle<CuFunction>(wanted == "stepscope_hold"    ? kHoldFunction
                                   : wanted == "stepscope_stamp" ? kStampFunction
                                                                 : kReadFunction);
    return kCuSuccess;
  }
  static CuResult launch(CuFunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         CuStream, void** arguments, void**) {
    STEPSCOPE_ENTER("cuLaunchKernel");
    Op op;
    const CuPointer pointer = *static_cast<CuPointer*>(arguments[0]);
    if (function == handle<CuFunction>(kHoldFunction)) {
      op.kind = OpKind::kWait;
      op.word = handle<const std::uint32_t*>(pointer);
      op.value = *static_cast<std::uint32_t*>(arguments[1]);
      machine->queue("hold kernel", op);
      return kCuSuccess;
    }
    if (function == handle<CuFunction>(kReadFunction)) {
      op.ns = machine->memset_ns;
      machine->queue("read", op);
      return kCuSuccess;
    }
    op.kind = OpKind::kStamp;
    op.stamps = handle<std::uint64_t*>(pointer);
    machine->queue("stamp", op);
    return kCuSuccess;
  }
  static CuResult stream_wait_value(CuStream, CuPointer word, std::uint32_t value, unsigned) {
    STEPSCOPE_ENTER("cuStreamWaitValue32");
    Op op{.kind = OpKind::kWait};
    op.word = handle<const std::uint32_t*>(word);
    op.value = value;
    machine->queue("hold", op);
    return kCuSuccess;
  }
  static CuResult default_pool(CuMemPool* pool, CuDevice) {
    STEPSCOPE_ENTER("cuDeviceGetDefaultMemPool");
    *pool = handle<CuMemPool>(1);
    return kCuSuccess;
  }
  static CuResult pool_get(CuMemPool, int attribute, void* value) {
    STEPSCOPE_ENTER("cuMemPoolGetAttribute");
    std::memcpy(value, &machine->pool_values.at(static_cast<std::size_t>(attribute)), sizeof(std::uint64_t));
    return kCuSuccess;
  }
  static CuResult pool_set(CuMemPool, int attribute, void* value) {
    STEPSCOPE_ENTER("cuMemPoolSetAttribute");
    std::memcpy(&machine->pool_values.at(static_cast<std::size_t>(attribute)), value, sizeof(std::uint64_t));
    return kCuSuccess;
  }

  static NvmlResult nvml_init() { return kNvmlSuccess; }
  static NvmlResult nvml_device(const char*, NvmlDevice* device) {
    *device = nullptr;
    return static_cast<NvmlResult>(machine->enter("nvmlDeviceGetHandleByPciBusId"));
  }
  static NvmlResult nvml_processes(NvmlDevice, unsigned* count, NvmlProcess* processes) {
    if (const CuResult failed = machine->enter("nvmlDeviceGetComputeRunningProcesses"); failed != 0) return failed;
    const std::size_t room = *count;
    *count = static_cast<unsigned>(machine->processes.size());
    if (room < machine->processes.size()) return kNvmlInsufficientSize;
    std::copy(machine->processes.begin(), machine->processes.end(), processes);
    return kNvmlSuccess;
  }
#undef STEPSCOPE_ENTER
};

FakeCuda::FakeCuda() {
  machine = this;
#define STEPSCOPE_FILL(member, symbol, arguments) driver_.member = &Functions::member;
  STEPSCOPE_CUDA_REQUIRED(STEPSCOPE_FILL)
  STEPSCOPE_CUDA_OPTIONAL(STEPSCOPE_FILL)
#undef STEPSCOPE_FILL
  nvml_ = {&Functions::nvml_init, &Functions::nvml_device, &Functions::nvml_processes};
  install_cuda_driver(&driver_);
  install_nvml(&nvml_);
  install_host_time({[] { return machine->host_ns_ += 10; }, [](std::int64_t ns) { machine->host_ns_ += ns; }});
}

FakeCuda::~FakeCuda() {
  install_cuda_driver(nullptr);
  install_nvml(nullptr);
  install_host_time({});
  machine = nullptr;
}

void FakeCuda::fail(const std::string& symbol, CuResult result, std::int64_t nth) {
  failures_[symbol] = {calls_[symbol] + nth, result};
}

std::int64_t FakeCuda::calls(const std::string& symbol) const {
  const auto at = calls_.find(symbol);
  return at == calls_.end() ? 0 : at->second;
}

CuResult FakeCuda::enter(const std::string& symbol) {
  host_ns_ += call_cost_ns;
  const std::int64_t number = ++calls_[symbol];
  const auto failure = failures_.find(symbol);
  return failure != failures_.end() && failure->second.at == number ? failure->second.result : kCuSuccess;
}

void FakeCuda::queue(const std::string& name, Op op) {
  log_.push_back(name);
  op.queued_ns = host_ns_;
  queue_.push_back(op);
  run();
}

void FakeCuda::launch_work(std::int64_t ns) {
  host_ns_ += call_cost_ns;
  Op op{.kind = OpKind::kWork};
  op.ns = ns;
  queue("work", op);
}

CuResult FakeCuda::wait_for_stream() {
  run();
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!queue_.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    run();
    if (std::chrono::steady_clock::now() < give_up) continue;
    is_deadlocked_ = true;
    return kCuErrorLaunchFailed;
  }
  host_ns_ = std::max(host_ns_, device_ns_);
  return kCuSuccess;
}

void FakeCuda::advance_device(std::int64_t to_ns) {
  if (to_ns <= device_ns_) return;
  ticks_ += static_cast<double>(to_ns - device_ns_) * sm_clock_hz / 1e9;
  device_ns_ = to_ns;
}

// False: the stream stands.
bool FakeCuda::run_one(const Op& op) {
  advance_device(op.queued_ns);
  switch (op.kind) {
    case OpKind::kWork:
      advance_device(device_ns_ + op.ns);
      return true;
    case OpKind::kEvent:
      events_[op.event] = device_ns_;
      return true;
    case OpKind::kWait: {
      const std::uint32_t now = std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(*op.word)).load();
      if (static_cast<std::int32_t>(now - op.value) < 0) return false;
      advance_device(host_ns_);
      return true;
    }
    case OpKind::kStamp:
      for (int sm = 0; sm < sm_count; ++sm) {
        op.stamps[2 * sm] = static_cast<std::uint64_t>(device_ns_);
        op.stamps[2 * sm + 1] = static_cast<std::uint64_t>(ticks_);
      }
      return true;
  }
  return true;
}

void FakeCuda::run() {
  while (!queue_.empty() && run_one(queue_.front())) queue_.pop_front();
}

namespace {

TEST(FakeCuda, TheStreamWorksBesideTheHostAndInOrder) {
  FakeCuda cuda;
  cuda.launch_work(5000);
  cuda.launch_work(7000);
  EXPECT_LT(cuda.host_ns(), 1'012'000);
  EXPECT_EQ(cuda.wait_for_stream(), kCuSuccess);
  EXPECT_GE(cuda.host_ns(), 1'012'000);
}

TEST(FakeCuda, AFunctionFailsWhenTold) {
  FakeCuda cuda;
  cuda.fail("cuDeviceGetCount", kCuErrorInvalidValue, 2);
  const CudaDriver* driver = find_loaded_cuda_driver();
  ASSERT_NE(driver, nullptr);
  int count = 0;
  EXPECT_EQ(driver->device_count(&count), kCuSuccess);
  EXPECT_EQ(driver->device_count(&count), kCuErrorInvalidValue);
  EXPECT_EQ(driver->device_count(&count), kCuSuccess);
}

}  // namespace
}  // namespace stepscope

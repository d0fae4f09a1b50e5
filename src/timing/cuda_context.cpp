// Contexts: which one, held how long, current when.
//
// The primary context is the one that the CUDA runtime and PyTorch use; a context that the thread has current already
// is taken as it is, whoever made it.
#include "timing/cuda_context.h"

namespace stepscope {
namespace {

Result<CuDevice> device_of_current(const CudaDriver& driver) {
  CuContext current = nullptr;
  CuDevice device = 0;
  if (driver.context_get_current(&current) != kCuSuccess || current == nullptr) {
    return Error{ErrorCode::kNotFound, "no CUDA context is current", {}};
  }
  if (Status done = cuda_status(driver, driver.context_device(&device), "cuCtxGetDevice"); !done) return done.error();
  return device;
}

Status check_number(const CudaDriver& driver, int device) {
  int count = 0;
  if (Status done = cuda_status(driver, driver.device_count(&count), "cuDeviceGetCount"); !done) return done;
  if (count == 0) return Error{ErrorCode::kNotFound, "no CUDA device", {}};
  if (device >= 0 && device < count) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               "no CUDA device " + std::to_string(device) + ": this process sees " + std::to_string(count),
               {}};
}

}  // namespace

Result<std::shared_ptr<CudaContext>> CudaContext::open(int device) {
  Result<const CudaDriver*> opened = open_cuda_driver();
  if (!opened) return opened.error();
  const CudaDriver& driver = **opened;
  const Result<CuDevice> current = device_of_current(driver);
  const bool wants_any = device == -1;
  if (wants_any) device = current ? *current : 0;
  if (Status done = check_number(driver, device); !done) return done.error();

  std::shared_ptr<CudaContext> context(new CudaContext(&driver, 0));
  if (Status done = cuda_status(driver, driver.device_get(&context->device_, device), "cuDeviceGet"); !done) {
    return done.error();
  }
  if (current && *current == context->device_) {
    (void)driver.context_get_current(&context->context_);
  } else {
    const CuResult retained = driver.primary_retain(&context->context_, context->device_);
    if (Status done = cuda_status(driver, retained, "cuDevicePrimaryCtxRetain"); !done) return done.error();
    context->is_retained_ = true;
    if (wants_any) {
      const CuResult set = driver.context_set_current(context->context_);
      if (Status done = cuda_status(driver, set, "cuCtxSetCurrent"); !done) return done.error();
    }
  }
  char name[256] = "";
  (void)driver.device_name(name, sizeof name, context->device_);
  name[sizeof name - 1] = '\0';
  context->device_name_ = name;
  return context;
}

// At the end of a process the driver may be gone before us; it then answers with an error that no longer matters.
CudaContext::~CudaContext() {
  if (is_retained_) (void)driver_->primary_release(device_);
}

Result<int> CudaContext::attribute(int attribute) const {
  int value = 0;
  const CuResult result = driver_->device_attribute(&value, attribute, device_);
  if (result != kCuSuccess) return cuda_error(*driver_, result, "cuDeviceGetAttribute");
  return value;
}

Result<CuDevice> find_device_in_use(const CudaDriver& driver) {
  if (Result<CuDevice> current = device_of_current(driver)) return current;
  int count = 0;
  if (driver.device_count(&count) == kCuSuccess) {
    for (int number = 0; number < count; ++number) {
      CuDevice device = 0;
      unsigned flags = 0;
      int active = 0;
      if (driver.device_get(&device, number) == kCuSuccess &&
          driver.primary_state(device, &flags, &active) == kCuSuccess && active != 0) {
        return number;
      }
    }
  }
  return Error{ErrorCode::kNotFound, "this process does not use CUDA yet", {}};
}

CurrentContext::CurrentContext(const CudaContext& context) : driver_(context.driver()) {
  CuContext current = nullptr;
  if (driver_.context_get_current(&current) == kCuSuccess && current == context.context()) return;
  status_ = cuda_status(driver_, driver_.context_push(context.context()), "cuCtxPushCurrent");
  is_pushed_ = status_.has_value();
}

CurrentContext::~CurrentContext() {
  CuContext popped = nullptr;
  if (is_pushed_) (void)driver_.context_pop(&popped);
}

RelaxedCapture::RelaxedCapture(const CudaDriver& driver) : driver_(driver) {
  is_exchanged_ = driver_.exchange_capture_mode(&mode_) == kCuSuccess;
}

RelaxedCapture::~RelaxedCapture() {
  if (is_exchanged_) (void)driver_.exchange_capture_mode(&mode_);
}

Status refuse_capture(const CudaDriver& driver, CuStream stream, std::string_view what) {
  int status = 0;
  const CuResult result = driver.stream_is_capturing(stream, &status);
  if (result == kCuErrorCaptureImplicit) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string(what) +
                     ": a stream is being captured into a graph, and the default stream would have to "
                     "wait for it; measure after the capture, or on a stream made non-blocking",
                 {}};
  }
  if (result != kCuSuccess) return cuda_error(driver, result, "cuStreamIsCapturing");
  if (status == 0) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               std::string(what) +
                   ": the stream is being captured into a graph, so nothing runs on it now; measure "
                   "the graph's launches after the capture",
               {}};
}

}  // namespace stepscope

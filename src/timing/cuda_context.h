// A device's context, as a clock needs it: found or made, held, and made current only while one of our calls runs.
//
// CUDA's calls work on the calling thread's current context. A clock may be used from a thread that has another one or
// none, so each call brings its own and puts the thread's back. Stream captures: some calls are forbidden while a
// stream is captured and destroy the capture when made; `refuse_capture` asks first, `RelaxedCapture` makes calls that
// touch no stream harmless.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "timing/cuda_driver.h"

namespace stepscope {

class CudaContext {
 public:
  // -1: the device of the thread's current context, else device 0, whose primary context becomes current.
  [[nodiscard]] static Result<std::shared_ptr<CudaContext>> open(int device);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  [[nodiscard]] const CudaDriver& driver() const { return *driver_; }
  [[nodiscard]] CuContext context() const { return context_; }
  [[nodiscard]] CuDevice device() const { return device_; }
  [[nodiscard]] const std::string& device_name() const { return device_name_; }
  // Missing when the driver does not know the attribute.
  [[nodiscard]] Result<int> attribute(int attribute) const;

 private:
  CudaContext(const CudaDriver* driver, CuDevice device) : driver_(driver), device_(device) {}

  const CudaDriver* driver_;
  CuDevice device_;
  CuContext context_ = nullptr;
  bool is_retained_ = false;
  std::string device_name_;
};

// The device a call without a device number means: of the thread's current context, else the first whose primary
// context is in use. Error (kNotFound) when this process does not use CUDA yet. Starts nothing.
[[nodiscard]] Result<CuDevice> find_device_in_use(const CudaDriver& driver);

// Makes a context current for a scope, if it is not already.
class CurrentContext {
 public:
  explicit CurrentContext(const CudaContext& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  const CudaDriver& driver_;
  bool is_pushed_ = false;
  Status status_ = Done{};
};

// In this scope the calling thread may make calls that a capture elsewhere forbids but that cannot touch it (creating
// an event, allocating memory, asking an event of our own).
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const CudaDriver& driver);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const CudaDriver& driver_;
  int mode_ = kCuCaptureModeRelaxed;
  bool is_exchanged_ = false;
};

// Error (kInvalidArgument) when `stream` is being captured into a graph, or is the default stream while a stream that
// synchronizes with it is. The capture is not touched.
[[nodiscard]] Status refuse_capture(const CudaDriver& driver, CuStream stream, std::string_view what);

}  // namespace stepscope

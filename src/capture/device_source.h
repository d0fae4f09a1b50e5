// Where GPU records come from, if anywhere: one interface between a session and whoever listens to the GPU.
//
// A session works without a GPU. The agent registers a source when it is in the process, tests register a fake one; a
// session asks the registered source and never names CUPTI. Times are on the recorder's clock (recorder_now_ns): a
// source whose device has another clock converts before it hands over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "stepscope/result.h"

namespace stepscope {

enum class DeviceWorkKind : std::uint8_t { kKernel, kCopy, kSet };

struct DeviceWork {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::string name;
  DeviceWorkKind kind = DeviceWorkKind::kKernel;
  std::int32_t device = 0;
  std::int64_t stream = 0;
  MaybeInt correlation;  // of the call that launched it; missing if unknown
  MaybeInt bytes;        // of copies and sets
  std::int32_t grid[3] = {0, 0, 0};
  std::int32_t block[3] = {0, 0, 0};
  std::int32_t registers_count = 0;
  std::int32_t shared_bytes = 0;
};

struct DeviceCall {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::string name;  // cudaLaunchKernel, ...
  std::int64_t thread_id = 0;
  std::int64_t correlation = 0;
};

struct DeviceInfo {
  std::int32_t number = 0;
  std::string name;
  MaybeInt memory_bytes, sm_count, compute_major, compute_minor;
};

struct DeviceRecording {
  std::vector<DeviceInfo> devices;
  std::vector<DeviceCall> calls;
  std::vector<DeviceWork> work;
  std::uint64_t dropped_count = 0;
};

class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  // Everything that is slow the first time (WARMUP of the schedule).
  virtual Status prepare() = 0;
  virtual Status start() = 0;
  // Waits for the device, stops, and hands over what ran since start().
  virtual Result<DeviceRecording> stop() = 0;
};

// The process's source; nullptr: none. Registering replaces; the caller keeps it alive until it registers nullptr.
void register_device_source(DeviceSource* source);
[[nodiscard]] DeviceSource* registered_device_source();

}  // namespace stepscope

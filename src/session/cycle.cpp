// The host is recorded around the GPU: it starts first and ends last, so that each call that launched something in the
// recording has its operator in it, and the wait for the device at the end shows.
#include "session/cycle.h"

#include <utility>

namespace stepscope {

void Cycle::give_up_device(const Error& error) {
  Error told = error;
  told.message = options_.device->name() + " records no GPU work from now on: " + error.message;
  problems_.add(told);
  device_failed_ = true;
}

void Cycle::prepare() {
  if (options_.device == nullptr || device_failed_) return;
  if (const Status prepared = options_.device->prepare(); !prepared) give_up_device(prepared.error());
}

Status Cycle::start() {
  if (options_.cpu) {
    if (Status started = start_recorder(options_.recorder); !started) return started;
  }
  is_recording_ = true;
  start_ns_ = recorder_now_ns();
  steps_.clear();
  if (options_.device != nullptr && !device_failed_) {
    const Status started = options_.device->start();
    device_is_recording_ = started.has_value();
    if (!started) give_up_device(started.error());
  }
  return Done{};
}

CycleRecords Cycle::stop() {
  CycleRecords out;
  if (std::exchange(device_is_recording_, false)) {
    Result<DeviceRecording> device = options_.device->stop();
    if (device) {
      out.device = std::move(*device);
    } else {
      give_up_device(device.error());
    }
  }
  out.host.start_ns = start_ns_;
  out.host.end_ns = recorder_now_ns();
  if (options_.cpu) {
    Result<Recording> host = stop_recorder();
    if (host) {
      out.host = std::move(*host);
    } else {
      problems_.add(host.error());
    }
  }
  out.steps = std::exchange(steps_, {});
  is_recording_ = false;
  return out;
}

}  // namespace stepscope

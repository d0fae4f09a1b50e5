// A GPU for tests: writes down what it is asked to do, and hands over the records it was given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capture/device_source.h"

namespace stepscope {

class FakeDeviceSource : public DeviceSource {
 public:
  FakeDeviceSource() { register_device_source(this); }
  ~FakeDeviceSource() override { register_device_source(nullptr); }
  FakeDeviceSource(const FakeDeviceSource&) = delete;
  FakeDeviceSource& operator=(const FakeDeviceSource&) = delete;

  [[nodiscard]] std::string name() const override { return "fake GPU"; }
  Status prepare() override { return done("prepare"); }
  Status start() override { return done("start"); }
  Result<DeviceRecording> stop() override {
    if (const Status stopped = done("stop"); !stopped) return stopped.error();
    return std::exchange(next_recording, {});
  }

  std::vector<std::string> asked;  // "prepare", "start", "stop", in order
  std::string failing;             // one of these, which answers with an error
  DeviceRecording next_recording;

 private:
  Status done(const std::string& what) {
    asked.push_back(what);
    if (what == failing) return Error{ErrorCode::kIo, what + " failed", {}, {}};
    return Done{};
  }
};

}  // namespace stepscope

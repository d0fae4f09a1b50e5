// One cycle of recording: the recorder of the program's threads and the source of GPU records, started and stopped as
// one.
#pragma once

#include <cstddef>
#include <optional>

#include "capture/device_source.h"
#include "capture/recorder.h"
#include "session/build_trace.h"
#include "session/problems.h"

namespace stepscope {

struct CycleOptions {
  bool cpu = true;
  DeviceSource* device = nullptr;  // nullptr: the GPU is not recorded
  RecorderOptions recorder;
};

class Cycle {
 public:
  Cycle(const CycleOptions& options, Problems& problems) : options_(options), problems_(problems) {}

  // What fails on the GPU's side is a problem and the CPU goes on; what fails on the CPU's side is returned.
  void prepare();
  Status start();
  void add_step(const SessionStep& step) { steps_.push_back(step); }
  [[nodiscard]] bool is_recording() const { return is_recording_; }
  // What was recorded since start(). Only while recording.
  [[nodiscard]] CycleRecords stop();

 private:
  CycleOptions options_;
  Problems& problems_;
  bool is_recording_ = false;
  bool device_is_recording_ = false;
  bool device_failed_ = false;  // a source that failed once is left alone: an error a cycle says nothing new
  TimeNs start_ns_ = 0;
  std::vector<SessionStep> steps_;

  void give_up_device(const Error& error);
};

}  // namespace stepscope

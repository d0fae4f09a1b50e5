// What stands behind a RecordedTrace.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "session/build_trace.h"
#include "session/run_identity.h"
#include "stepscope/session.h"
#include "trace/trace.h"

namespace stepscope {

// Paths of the files that a session's traces were written to; a handler may write on threads of its own.
class WrittenFiles {
 public:
  void add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.push_back(path);
  }
  [[nodiscard]] std::vector<std::string> paths() const {
    const std::lock_guard lock(mutex_);
    return paths_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> paths_;
};

struct RecordedTrace::Content {
  Trace trace;
  std::uint64_t dropped_count = 0;
  std::uint64_t open_span_count = 0;
  std::optional<double> flops;
  std::vector<std::int64_t> steps;
  std::string worker_name;
  std::int64_t process_id = 0;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  std::shared_ptr<WrittenFiles> files;
};

struct RecordedTraceOptions {
  TraceFlags flags;
  std::string worker_name;  // empty: that of the identity
};

[[nodiscard]] RecordedTrace make_recorded_trace(CycleRecords records, const RunIdentity& identity,
                                                const RecordedTraceOptions& options,
                                                std::shared_ptr<WrittenFiles> files);

}  // namespace stepscope

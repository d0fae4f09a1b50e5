// From what a capture tells of memory to rows of memory_events and counters.
//
// Two things are told apart. Calls of CUDA (cudaMalloc, cudaMallocAsync, cuMemMap ...) are records of the device's
// profiler: they carry no thread and no totals. The thread is that of the call with their correlation number, so that
// its operator and stack are theirs; the total is summed here, over what was allocated in the recording and what it saw
// freed of older memory: a lower bound of what the program holds, and exact where everything was recorded. Where
// PyTorch's own levels are in the file the totals are PyTorch's and the calls have none, since two accounts of the same
// memory make no curve.
// Levels of PyTorch are known at the ends of steps, each with its peak since the one before: two rows of 0 bytes, the
// peak and then the level, so that a step's peak is in the step and the next one inherits the level.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "trace/builder.h"
#include "wire/records.h"

namespace stepscope::capture_format {

class MemoryRows {
 public:
  void add(const WireMemory& record, std::uint64_t file_order) { calls_.push_back({record, file_order}); }
  void add(const WireMemoryLevel& record, std::uint64_t file_order) { levels_.push_back({record, file_order}); }

  struct Conversions {
    std::function<TimeNs(TimeNs)> time;
    std::function<ThreadId(std::int64_t)> thread;
    StringId process_key;
  };
  // After all calls are in `fragment`. Nothing may be added afterwards.
  void finish(Fragment& fragment, const Conversions& convert);

 private:
  template <class Record>
  struct Told {
    Record record;
    std::uint64_t file_order;
  };
  void add_calls(Fragment& fragment, const Conversions& convert);
  void add_levels(Fragment& fragment, const Conversions& convert) const;
  void add_counters(const WireMemoryLevel& level, Fragment& fragment, const Conversions& convert) const;
  void find_threads(const Fragment& fragment);
  [[nodiscard]] bool has_allocator_levels() const;

  std::vector<Told<WireMemory>> calls_;
  std::vector<ThreadId> thread_of_call_;  // beside calls_; empty: no such call
  std::vector<Told<WireMemoryLevel>> levels_;
};

}  // namespace stepscope::capture_format

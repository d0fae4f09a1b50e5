// Stacks of a trace at given moments: the call, the operators and the Python frames that are open on a thread.
//
// Moments of a thread come in order of time, so each table is walked once, with the open rows on a stack of its own.
#pragma once

#include <vector>

#include "memory/snapshot.h"
#include "memory/stack_table.h"
#include "trace/trace.h"

namespace stepscope {

class TraceStacks {
 public:
  TraceStacks(const Trace& trace, MemorySnapshot& into);

  // Before the first moment of each thread.
  void begin_thread(ThreadId thread);
  // Not before the thread's last moment. Empty: nothing is open.
  [[nodiscard]] SnapshotStackId at(TimeNs time_ns);

 private:
  template <class Table>
  struct Open {
    using Id = typename Table::Id;
    std::uint32_t next = 0, end = 0;
    std::vector<Id> rows;  // outermost first
    void begin(IdRange<Id> range);
    void advance(const Table& table, TimeNs time_ns);
  };
  SnapshotFrameId frame(StringId name, bool is_python);

  const Trace& trace_;
  MemorySnapshot& snapshot_;
  snapshot_reading::StackTable stacks_;
  std::vector<SnapshotFrameId> frame_of_python_, frame_of_native_;  // by StringId
  Open<Frames> frames_;
  Open<Ops> ops_;
  Open<Calls> calls_;
  std::vector<SnapshotFrameId> wanted_;
};

}  // namespace stepscope

// What the host did between two points: labelled time, and how many events the profiler had to record there.
#pragma once

#include "analyze/replay/graph.h"

namespace stepscope {

// Measures the edges of one thread, which must come in order of time: counting is one merge over the thread's tables.
class WorkMeter {
 public:
  WorkMeter(const ReplayInput& input, ReplayGraph& graph, ThreadId thread, TimeNs from_ns);
  // Labels and counts of [start, end).
  WorkId measure(TimeNs start_ns, TimeNs end_ns);
  // Labels only: main's standing still around a hand-off, where nothing was recorded.
  WorkId measure_wait(TimeNs start_ns, TimeNs end_ns);

 private:
  template <class IdType>
  struct Cursor {
    const std::vector<TimeNs>* starts = nullptr;
    std::uint32_t at = 0, end = 0;
    std::uint32_t count_within(TimeNs from_ns, TimeNs to_ns);
  };
  const ReplayInput& input_;
  ReplayGraph& graph_;
  ThreadId thread_;
  Cursor<OpId> ops_;
  Cursor<CallId> calls_;
  Cursor<FrameId> frames_;
  Cursor<SpanId> spans_;
  std::vector<HostSlice> slices_;
};

// Shortens the work to `length_ns`, each label in proportion.
void shorten_work(ReplayGraph& graph, WorkId work, DurationNs length_ns);

}  // namespace stepscope

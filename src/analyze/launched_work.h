// Which GPU work had been launched on a stream (or device) by a given moment, and which of it ended last.
#pragma once

#include <optional>
#include <vector>

#include "analyze/gpu_timeline.h"

namespace stepscope {

// GPU events in order of launch.
class LaunchedWork {
 public:
  void add(TimeNs launch_ns, GpuEventId event) { entries_.push_back({launch_ns, event, event}); }
  // After the last add, before the first question.
  void finish(const GpuTimeline& timeline);
  // Of the events launched before `time_ns`, the one that ends last, leaving out those that end after `limit_ns`;
  // looks back over at most 64 launches for one within the limit.
  [[nodiscard]] std::optional<GpuEventId> find_last(const GpuTimeline& timeline, TimeNs time_ns, TimeNs limit_ns) const;

 private:
  struct Entry {
    TimeNs launch_ns;
    GpuEventId event;
    GpuEventId last;  // of this entry's event and all before it, the one that ends last
  };
  std::vector<Entry> entries_;
};

}  // namespace stepscope

// Collectives of a run without a GPU: gloo runs them on threads of its own, and the training thread waits for them.
//
// What the training thread does in one meanwhile is nothing, so without the collectives a rank that waits for another
// looks like one that pauses. Only where the wait is over when the collective is, is it one: a program may start a
// collective and do something else that no event names.
#pragma once

#include <optional>
#include <vector>

#include "analyze/host_path.h"
#include "analyze/steps.h"

namespace stepscope {

struct HostCollective {
  StringId name;                    // "gloo:all_reduce", ...
  Interval at;                      // from the rank's arrival until all are done
  std::optional<std::size_t> step;  // index into Steps::steps
  DurationNs waited_ns = 0;         // of it, the training thread does nothing else
};

struct HostCollectives {
  std::vector<HostCollective> all;  // in order of start
  IntervalSet waits;                // of the training thread, for any of them
};

// Of the training thread's process, in the window.
[[nodiscard]] HostCollectives find_host_collectives(const Trace& trace, const Steps& steps, const HostPath& path);

}  // namespace stepscope

// Where the training thread is held by one piece of work that launches nothing, and what that means for a CUDA graph.
//
// A graph takes launching off the host, not the work between: tensors put together on the CPU, inputs prepared in
// Python. What launches and what only computes is told by how long the host goes without a launch: a stretch far above
// the usual one is no way to the next kernel. Asked only where the host may decide the step, so the graph of the replay
// is built again instead of being kept, as in this_run.h.
#pragma once

#include <optional>
#include <vector>

#include "analyze/facts.h"

namespace stepscope {

struct HeldSite {
  StringId name;  // of the innermost event; empty for none
  HostLabel label = HostLabel::kNoEvent;
  DurationNs per_step_ns = 0;
  Interval longest;
};

struct HeldHost {
  DurationNs least_ns = 0;      // a stretch is one from here on
  std::vector<HeldSite> sites;  // costliest first; empty: the host is never held, and the what-ifs are missing
  DurationNs per_step_ns = 0;   // of all of them
  WhatIf as_graph;              // launching costs nothing and these stretches stay (loader, checkpoint, allocator gone)
  WhatIf without;               // these stretches are gone and launching stays
  WhatIf ahead;                 // nothing is waited for: the host works ahead of the GPU
};

// Missing where the re-simulation is refused.
[[nodiscard]] std::optional<HeldHost> compute_held_host(const Trace& trace, const Facts& facts);

}  // namespace stepscope

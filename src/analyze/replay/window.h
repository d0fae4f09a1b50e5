// Which steps are replayed: the first few of a long run, so that the cost does not grow with the file.
//
// Without steps the whole window is taken as one. A budget of GPU events bounds time and memory; the first step is kept
// (its boundary is known to be sound), hence "the first so many" and not a sample.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/replay/graph.h"

namespace stepscope {

struct ReplayWindow {
  Interval host;                        // host start of the first step to the end of the last
  std::vector<TimeNs> cut_ns;           // host starts of steps, and the ends that no step follows at once; ascending
  std::vector<StepCuts> steps;          // by cut
  std::vector<DurationNs> recorded_ns;  // their durations as Steps has them
  TimeNs first_boundary_ns = 0;         // G of the first step, on the GPU's clock
  ThreadId main_thread;
  std::optional<std::string> refused;  // why nothing can be replayed
};

// Times far from the window are damage, and sums of them could overflow: such events are left out.
[[nodiscard]] bool is_near(const ReplayWindow& window, TimeNs time_ns);

[[nodiscard]] ReplayWindow choose_replay_window(const ReplayInput& input);

}  // namespace stepscope

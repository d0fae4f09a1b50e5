// Which steps are replayed: a few of a long run, so that the cost does not grow with the file.
//
// Without steps the whole window is taken as one. A budget of GPU events bounds time and memory. What is replayed must
// stand for all steps, whose median it is compared with: the first steps where their median is that of all, else those
// steps in a row whose median is nearest. A sample spread over the run was rejected: a step begins where the GPU is
// done with the one before, so each of them would need its neighbour replayed too.
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
  std::size_t first_step = 0;           // index into Steps::steps
  double scale = 1;                     // from their median to that of all steps; 1 where the two are alike
  TimeNs first_boundary_ns = 0;         // G of the first step, on the GPU's clock
  ThreadId main_thread;
  std::optional<std::string> refused;  // why nothing can be replayed
};

// Times far from the window are damage, and sums of them could overflow: such events are left out.
[[nodiscard]] bool is_near(const ReplayWindow& window, TimeNs time_ns);

[[nodiscard]] ReplayWindow choose_replay_window(const ReplayInput& input);

}  // namespace stepscope

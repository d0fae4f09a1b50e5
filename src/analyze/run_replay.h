// The replay graph of one run with its weights, for whoever replays several runs together (fleet/).
//
// compute_what_ifs() builds the same graph and throws it away: most files are read alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "analyze/replay/evaluate.h"

namespace stepscope {

struct RunReplay {
  ReplayGraph graph;
  std::vector<Lanes> weights;  // by edge, of the unchanged run
  // By UnitEndId: how much longer work took because it ran beside a collective; 0 where nothing tells.
  std::vector<DurationNs> contention_ns;
  double cost_uncertainty_ratio = 0;   // of the profiler's cost: (kRecorded - kMid) may be off by this share of itself
  std::optional<std::string> refused;  // why there is none; the single run's self-check included
};

[[nodiscard]] RunReplay build_run_replay(const Trace& trace, const Facts& facts, std::size_t max_steps);

}  // namespace stepscope

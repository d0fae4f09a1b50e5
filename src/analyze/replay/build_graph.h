// The graph of the recorded run, stage by stage.
#pragma once

#include "analyze/replay/window.h"

namespace stepscope {

struct BuiltGraph {
  ReplayGraph graph;
  std::optional<std::string> refused;  // why there is none
};

[[nodiscard]] BuiltGraph build_replay_graph(const ReplayInput& input, const ReplayWindow& window);

}  // namespace stepscope

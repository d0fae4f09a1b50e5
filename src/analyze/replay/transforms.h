// What each what-if changes. Every number that is assumed rather than measured stands in transforms.cpp with its
// source.
#pragma once

#include "analyze/replay/pauses.h"
#include "analyze/replay/regions.h"

namespace stepscope {

struct TransformInput {
  const ReplayInput& input;
  const ReplayWindow& window;
  const ReplayGraph& graph;
  const Pauses& pauses;
};

[[nodiscard]] Edits edits_of(Transform transform, const TransformInput& from);

}  // namespace stepscope

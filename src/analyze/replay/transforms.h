// What each what-if changes. Every number that is assumed rather than measured stands in transforms.cpp with its
// source.
#pragma once

#include "analyze/replay/pauses.h"
#include "analyze/replay/regions.h"

namespace stepscope {

// Host work with a rule of its own, which Transform::kSpecificRemoved takes away.
inline constexpr LabelMask kSpecificLabels =
    mask_of(HostLabel::kDataLoader) | mask_of(HostLabel::kCheckpoint) | mask_of(HostLabel::kAllocator);

struct TransformInput {
  const ReplayInput& input;
  const ReplayWindow& window;
  const ReplayGraph& graph;
  const Pauses& pauses;
};

[[nodiscard]] Edits edits_of(Transform transform, const TransformInput& from);

}  // namespace stepscope

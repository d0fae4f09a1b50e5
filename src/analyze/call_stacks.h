// Folded stacks: how much time belongs to each stack of Python frames, for flame graphs.
//
// Device time of a GPU event belongs to the stack that was open on the launching thread when its launch call
// began; CPU time of a stack is what its frames spend outside the frames below them. PyTorch 2.11 writes no stack into
// its operator rows (its own export_stacks is empty), so the stacks come from the Python frames of the file. Files
// without frames fall back to spans and operators, which nest the same way.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace stepscope {

enum class StackMetric : std::uint8_t { kSelfDeviceTime, kSelfCpuTime };

struct FoldedStack {
  std::vector<StringId> frames;  // root first
  DurationNs time_ns = 0;
};

struct FoldedStacks {
  bool from_python_frames = false;  // false: spans and operators
  std::vector<FoldedStack> stacks;  // in order of first appearance
};

// with_operators: operators stand below the Python frames that called them.
[[nodiscard]] FoldedStacks compute_folded_stacks(const Trace& trace, StackMetric metric, bool with_operators);

}  // namespace stepscope

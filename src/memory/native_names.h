// Names of C++ frames: what to call a stack that has no line of Python.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "memory/snapshot.h"

namespace stepscope {

// Without return type, parameters, template arguments and suffixes: "at::_ops::addmm::call".
[[nodiscard]] std::string shorten_native_name(std::string_view name);

// The frame that says most: the user's own innermost function; the operator of a backward pass; the operator called
// from outside; else the innermost that is no allocator's. Empty for no frames.
[[nodiscard]] SnapshotFrameId find_native_frame(const MemorySnapshot& snapshot,
                                                std::span<const SnapshotFrameId> frames);

}  // namespace stepscope

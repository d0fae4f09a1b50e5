// Which nn.Module an allocation belongs to, as far as its stack tells.
//
// A stack has functions and files but no classes and no instances, so "layer 3" cannot be told from layer 4. What can
// be said: the user's own forward function nearest to the allocation, and the module of torch that it called.
#pragma once

#include <string>

#include "memory/facts.h"
#include "memory/user_frames.h"

namespace stepscope {

// "model.py Block.forward", "model.py Block.forward > nn/modules/linear.py", or kOutsideModules.
[[nodiscard]] std::string name_module(const MemorySnapshot& snapshot,
                                      const Column<SnapshotFrameId, FrameOrigin>& origins, SnapshotStackId stack);

// Is it a function called forward, qualified or not?
[[nodiscard]] bool is_forward_name(std::string_view function);

}  // namespace stepscope

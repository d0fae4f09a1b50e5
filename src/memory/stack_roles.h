// What part of a training step a stack was recorded in, told by its frames.
#pragma once

#include "memory/facts.h"
#include "memory/user_frames.h"

namespace stepscope {

enum class StackRole : std::uint8_t {
  kNone,           // no frames were recorded
  kOptimizer,      // torch.optim's step
  kBackward,       // the autograd engine
  kForward,        // a function called forward, or torch.nn.functional
  kDataLoader,     // torch.utils.data
  kBuild,          // __init__, or a module moved with .to()
  kCommunication,  // torch.distributed
  kUser,           // the user's own line made the tensor, outside all of these
  kLibrary,        // other Python
};

// The role of each stack of the snapshot.
[[nodiscard]] Column<SnapshotStackId, StackRole> find_stack_roles(const MemorySnapshot& snapshot);

}  // namespace stepscope

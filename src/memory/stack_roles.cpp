// Each frame votes for one role; of the votes the strongest wins. The optimizer outranks backward (it may run from
// within it), backward outranks forward (a checkpointed forward is run again by the engine), and all of them outrank
// building, since a module may be built lazily within its forward.
#include "memory/stack_roles.h"

#include <algorithm>
#include <array>

#include "memory/module_names.h"

namespace stepscope {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_named(std::string_view function, std::string_view name) {
  if (function == name) return true;  // newer Python writes qualified names: Linear.forward
  return function.size() > name.size() && function.ends_with(name) &&
         function[function.size() - name.size() - 1] == '.';
}

StackRole role_of_torch_frame(std::string_view function, std::string_view file) {
  if (contains(file, "/optim/")) return StackRole::kOptimizer;
  if (contains(file, "/autograd/") && !is_named(function, "forward")) return StackRole::kBackward;
  if (contains(file, "/utils/data/")) return StackRole::kDataLoader;
  if (contains(file, "/distributed/")) return StackRole::kCommunication;
  if (file.ends_with("/nn/functional.py")) return StackRole::kForward;
  if (file.ends_with("/nn/modules/module.py") && is_named(function, "_apply")) return StackRole::kBuild;
  return StackRole::kLibrary;
}

StackRole role_of_frame(const MemorySnapshot& snapshot, SnapshotFrameId frame, FrameOrigin origin) {
  const std::string_view function = snapshot.text(snapshot.frames.name[frame]);
  if (origin == FrameOrigin::kNative) {
    return contains(function, "torch::autograd::Engine::") ? StackRole::kBackward : StackRole::kNone;
  }
  if (is_named(function, "backward")) return StackRole::kBackward;
  if (origin == FrameOrigin::kTorch) {
    const StackRole role = role_of_torch_frame(function, snapshot.text(snapshot.frames.file[frame]));
    if (role != StackRole::kLibrary) return role;
  }
  if (is_forward_name(function)) return StackRole::kForward;
  if (is_named(function, "__init__") || is_named(function, "reset_parameters")) return StackRole::kBuild;
  return StackRole::kLibrary;
}

}  // namespace

Column<SnapshotStackId, StackRole> find_stack_roles(const MemorySnapshot& snapshot) {
  const Column<SnapshotFrameId, FrameOrigin> origins = find_frame_origins(snapshot);
  Column<SnapshotFrameId, StackRole> votes;
  for (const SnapshotFrameId frame : snapshot.frames.ids().ids()) {
    votes.push_back(role_of_frame(snapshot, frame, origins[frame]));
  }
  Column<SnapshotStackId, StackRole> roles;
  for (const SnapshotStackId stack : snapshot.stacks.ids().ids()) {
    StackRole role = StackRole::kLibrary;
    FrameOrigin innermost = FrameOrigin::kNative;
    for (const SnapshotFrameId frame : snapshot.frames_of(stack)) {
      if (votes[frame] != StackRole::kNone) role = std::min(role, votes[frame]);
      if (innermost == FrameOrigin::kNative) innermost = origins[frame];
    }
    if (role == StackRole::kLibrary && innermost == FrameOrigin::kUser) role = StackRole::kUser;
    roles.push_back(role);
  }
  return roles;
}

}  // namespace stepscope

// Which frames of a stack are the user's, and which belong to Python, torch and what is installed.
#pragma once

#include "memory/snapshot.h"

namespace stepscope {

enum class FrameOrigin : std::uint8_t {
  kUser,      // Python, nowhere near an installation
  kTorch,     // Python of torch, wherever it is installed or built
  kLibrary,   // Python of another installed package
  kStandard,  // Python's own library, frozen and generated code
  kNative,    // C++ or C
};
[[nodiscard]] FrameOrigin find_frame_origin(std::string_view function, std::string_view file, MaybeInt line);

// The origin of every frame of the snapshot.
[[nodiscard]] Column<SnapshotFrameId, FrameOrigin> find_frame_origins(const MemorySnapshot& snapshot);

// See find_user_frame of facts.h; this one does not look at the names again.
[[nodiscard]] SnapshotFrameId find_user_frame(const MemorySnapshot& snapshot,
                                              const Column<SnapshotFrameId, FrameOrigin>& origins,
                                              SnapshotStackId stack);

}  // namespace stepscope

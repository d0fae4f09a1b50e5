// From the inside outwards: torch's module first, then the first forward that is not torch's.
#include "memory/module_names.h"

namespace stepscope {
namespace {

constexpr std::string_view kModuleFolder = "nn/modules/";

}  // namespace

bool is_forward_name(std::string_view function) { return function == "forward" || function.ends_with(".forward"); }

std::string name_module(const MemorySnapshot& snapshot, const Column<SnapshotFrameId, FrameOrigin>& origins,
                        SnapshotStackId stack) {
  std::string inner;
  for (const SnapshotFrameId frame : snapshot.frames_of(stack)) {
    if (origins[frame] == FrameOrigin::kNative) continue;
    const std::string_view function = snapshot.text(snapshot.frames.name[frame]);
    if (!is_forward_name(function)) continue;
    const std::string_view file = snapshot.text(snapshot.frames.file[frame]);
    if (origins[frame] != FrameOrigin::kTorch) {
      std::string name = std::string(file) + ' ' + std::string(function);
      return inner.empty() ? name : name + " > " + inner;
    }
    const std::size_t folder = file.rfind(kModuleFolder);
    if (inner.empty() && folder != std::string_view::npos) inner = file.substr(folder);
  }
  return inner.empty() ? std::string(kOutsideModules) : inner;
}

}  // namespace stepscope

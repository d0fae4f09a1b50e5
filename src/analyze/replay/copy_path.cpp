// Plain searches: a trace has few copies, and their names are short.
#include "analyze/replay/copy_path.h"

namespace stepscope {

CopyPath classify_copy_name(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("HtoD") || has("HostToDevice")) {
    return has("Pageable") ? CopyPath::kPageableToDevice : CopyPath::kHostToDevice;
  }
  if (has("DtoH") || has("DeviceToHost")) return CopyPath::kDeviceToHost;
  if (has("PtoP") || has("PeerToPeer")) return CopyPath::kBetweenDevices;
  return CopyPath::kNone;
}

CopyPath classify_copy(const Trace& trace, GpuEventId event) {
  if (trace.gpu_events.kind[event] != GpuEventKind::kCopy) return CopyPath::kNone;
  return classify_copy_name(trace.text(trace.gpu_events.name[event]));
}

}  // namespace stepscope

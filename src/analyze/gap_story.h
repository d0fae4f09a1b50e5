// What the host did about one gap: the two views of it, and the blocking call that started it.
#pragma once

#include <optional>
#include <vector>

#include "analyze/device_gaps.h"
#include "analyze/host_path.h"

namespace stepscope {

// Both views as slices on the gap's own time: in order, covering [start, end) of the gap exactly.
struct GapStory {
  std::vector<HostSlice> edges;
  std::vector<HostSlice> blame;  // shifted: the host did it earlier, by as much as the launch preceded the gap's end
  std::optional<CallId> blocked_by;  // root: the blocking call in which the host stood when the GPU ran dry
};

class GapTeller {
 public:
  GapTeller(const Trace& trace, const HostPath& path);
  // Fills `story`, whose vectors are reused. Gaps should come in order of time (any order is right, only slower).
  void tell(const DeviceGap& gap, GapStory& story);

 private:
  void add_path(ThreadId thread, TimeNs start_ns, TimeNs end_ns, std::vector<HostSlice>& out);
  std::optional<CallId> find_root(ThreadId thread, TimeNs gap_start_ns, TimeNs before_ns);

  const Trace& trace_;
  const HostPath& path_;
  HostPath::Cursor cursor_;
  Column<ThreadId, std::uint32_t> call_at_;  // the last call looked at, on each thread
  std::vector<PathPart> parts_;
};

}  // namespace stepscope

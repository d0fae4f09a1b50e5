// Idle time of a device, attributed to causes: two views whose parts each sum to the idle time exactly.
#pragma once

#include <array>
#include <vector>

#include "analyze/busy.h"
#include "analyze/host_path.h"

namespace stepscope {

using IdleByCause = std::array<DurationNs, kHostLabelCount>;

struct GapPart {
  DurationNs length_ns = 0;
  HostLabel label = HostLabel::kNoEvent;
  StringId detail;
};

// The costliest gaps are kept whole, for evidence; all gaps are in the sums.
struct Gap {
  Interval at;
  std::optional<GpuEventId> ended_by;
  std::optional<CallId> blocked_by;  // root: a blocking call that ended inside the gap
  std::vector<GapPart> blame;        // blame view, longest first, adding up to the gap; the tail without names
};

struct DetailCost {
  HostLabel label = HostLabel::kNoEvent;
  StringId detail;
  DurationNs length_ns = 0;
};

struct DeviceIdle {
  DeviceId device;
  bool attributed = true;                     // false beyond kMostDevicesInFull: all of the following is empty then
  IdleByCause blame_ns{};                     // what the host did in the time by which the launch came too late (shown)
  IdleByCause edges_ns{};                     // what the host did during the gap itself
  std::vector<IdleByCause> blame_by_step_ns;  // one for each of Steps::steps
  std::vector<IdleByCause> edges_by_step_ns;  // likewise
  std::vector<DetailCost> details;            // blame view by (label, name), costliest first, at most 64
  std::vector<Gap> largest;                   // at most 32, longest first
  DurationNs drained_by_wait_ns = 0;          // idle in gaps that a blocking call started
};

// One entry for each of `busy`, in its order; attributed are the busiest devices and busy[main_device].
[[nodiscard]] std::vector<DeviceIdle> compute_idle(const Trace& trace, const GpuTimeline& timeline,
                                                   const Launches& launches, const Steps& steps,
                                                   const std::vector<DeviceBusy>& busy, const HostPath& path,
                                                   std::size_t main_device = 0);

}  // namespace stepscope

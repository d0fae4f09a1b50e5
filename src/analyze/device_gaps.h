// The idle gaps of a device, each with the event that ended it and the reason it came no sooner.
#pragma once

#include <optional>

#include "analyze/busy.h"
#include "analyze/launches.h"

namespace stepscope {

enum class GapCause : std::uint8_t {
  kHostLate,   // the launch came too late (or nothing followed in the window)
  kKernelGap,  // launched long before: dependency, stream wait, scheduling
  kUnlinked,   // the event that ended the gap has no known launch
};

struct DeviceGap {
  Interval at;
  GapCause cause = GapCause::kHostLate;
  std::optional<GpuEventId> ended_by;  // missing when the window ends first
  CallId call;                         // its launch; empty when unlinked or missing
  ThreadId thread;                     // of the launch; the main thread when nothing follows
  TimeNs launch_ns = 0;                // start of the launch call; the gap's end when nothing follows
};

// Reads the gaps of one device in order of time, without keeping them: a trace has as many as kernels.
class GapReader {
 public:
  GapReader(const Trace& trace, const GpuTimeline& timeline, const Launches& launches, const Steps& steps,
            const DeviceBusy& busy);
  // False after the last gap.
  bool next(DeviceGap& gap);

 private:
  bool next_interval(Interval& at);
  std::optional<GpuEventId> find_ending_event(TimeNs time_ns);
  void explain(DeviceGap& gap) const;

  [[nodiscard]] const IntervalSet& covered() const { return covered_.empty() ? busy_ : covered_; }

  const Trace& trace_;
  const GpuTimeline& timeline_;
  const Launches& launches_;
  const Steps& steps_;
  const IntervalSet& busy_;
  IntervalSet covered_;  // busy or not recorded; empty where everything was
  std::size_t busy_at_ = 0;
  TimeNs now_;
  IdRange<GpuEventId> events_;  // those not yet passed
};

}  // namespace stepscope

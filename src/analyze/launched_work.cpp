// A sorted list with a running maximum: work of one stream ends in the order of launch, so the running maximum is
// mostly the entry itself, but graph launches and several streams of a device need it.
#include "analyze/launched_work.h"

#include <algorithm>

namespace stepscope {

void LaunchedWork::finish(const GpuTimeline& timeline) {
  const auto earlier = [](const Entry& a, const Entry& b) { return a.launch_ns < b.launch_ns; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), earlier)) {
    std::stable_sort(entries_.begin(), entries_.end(), earlier);
  }
  for (std::size_t at = 1; at < entries_.size(); ++at) {
    const GpuEventId before = entries_[at - 1].last;
    if (timeline.end_ns[before] > timeline.end_ns[entries_[at].event]) entries_[at].last = before;
  }
}

std::optional<GpuEventId> LaunchedWork::find_last(const GpuTimeline& timeline, TimeNs time_ns, TimeNs limit_ns) const {
  const auto after = std::partition_point(entries_.begin(), entries_.end(),
                                          [&](const Entry& entry) { return entry.launch_ns < time_ns; });
  std::optional<GpuEventId> best;
  std::size_t looked = 0;
  for (auto at = after; at != entries_.begin() && looked < 64; ++looked) {
    --at;
    if (timeline.end_ns[at->last] <= limit_ns) {  // all before are within the limit
      if (!best || timeline.end_ns[at->last] > timeline.end_ns[*best]) best = at->last;
      break;
    }
    const TimeNs end_ns = timeline.end_ns[at->event];
    if (end_ns <= limit_ns && (!best || end_ns > timeline.end_ns[*best])) best = at->event;
  }
  return best;
}

}  // namespace stepscope

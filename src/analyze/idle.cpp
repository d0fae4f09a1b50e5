// Sums the stories of all gaps: by cause, by step, by name, and keeps the longest ones whole.
//
// One pass over the gaps of a device in order of time, with cursors into the host's slices, so the cost is that of
// the slices passed: all of them for each device, which is why a file of thousands of devices has causes for the
// busiest only. A gap that crosses from one step into the next is split at the boundary, in both views
// at the same instant of the gap, so each view adds up to the idle time of each step to the nanosecond.
#include "analyze/idle.h"

#include <tsl/robin_map.h>

#include <algorithm>

#include "analyze/gap_story.h"
#include "base/parallel.h"

namespace stepscope {
namespace {

constexpr std::size_t kMostDetails = 64;
constexpr std::size_t kMostGaps = 32;
constexpr std::size_t kMostParts = 16;  // named parts of one kept gap; the rest goes by label

// The part of a gap that lies in one step (or in none).
struct Piece {
  TimeNs end_ns;
  std::optional<std::size_t> step;
};

// Splits gaps, which come in order of time, at the boundaries of steps.
class StepSplitter {
 public:
  explicit StepSplitter(const std::vector<Step>& steps) : steps_(steps) {}
  void split(Interval gap, std::vector<Piece>& pieces) {
    pieces.clear();
    for (TimeNs now = gap.start_ns; now < gap.end_ns; now = pieces.back().end_ns) {
      while (at_ < steps_.size() && steps_[at_].gpu.end_ns <= now) ++at_;
      if (at_ == steps_.size()) {
        pieces.push_back({gap.end_ns, std::nullopt});
      } else if (steps_[at_].gpu.start_ns > now) {
        pieces.push_back({std::min(gap.end_ns, steps_[at_].gpu.start_ns), std::nullopt});
      } else {
        pieces.push_back({std::min(gap.end_ns, steps_[at_].gpu.end_ns), at_});
      }
    }
  }

 private:
  const std::vector<Step>& steps_;
  std::size_t at_ = 0;
};

void add_view(const std::vector<HostSlice>& slices, const std::vector<Piece>& pieces, IdleByCause& total,
              std::vector<IdleByCause>& by_step) {
  auto piece = pieces.begin();
  for (const HostSlice& slice : slices) {
    const auto label = static_cast<std::size_t>(slice.label);
    total[label] += slice.end_ns - slice.start_ns;
    for (TimeNs now = slice.start_ns; now < slice.end_ns;) {
      while (piece + 1 != pieces.end() && piece->end_ns <= now) ++piece;
      const TimeNs to = piece + 1 == pieces.end() ? slice.end_ns : std::min(slice.end_ns, piece->end_ns);
      if (piece->step) by_step[*piece->step][label] += to - now;
      now = to;
    }
  }
}

// Lengths by (label, name).
class DetailSums {
 public:
  void add(const HostSlice& slice) { sums_[key_of(slice.label, slice.detail)] += slice.end_ns - slice.start_ns; }
  void clear() { sums_.clear(); }
  // Costliest first; ties by label, then name's number, so that runs agree.
  [[nodiscard]] std::vector<DetailCost> sorted() const {
    std::vector<DetailCost> all;
    for (const auto& [key, length_ns] : sums_) {
      all.push_back(
          {static_cast<HostLabel>(key >> 32), StringId{static_cast<std::uint32_t>(key & 0xFFFFFFFFU)}, length_ns});
    }
    std::sort(all.begin(), all.end(), [](const DetailCost& a, const DetailCost& b) {
      if (a.length_ns != b.length_ns) return a.length_ns > b.length_ns;
      return a.label != b.label ? a.label < b.label : a.detail < b.detail;
    });
    return all;
  }

 private:
  static std::uint64_t key_of(HostLabel label, StringId detail) {
    return static_cast<std::uint64_t>(label) << 32 | detail.value;
  }
  struct Hash {
    std::size_t operator()(std::uint64_t key) const noexcept { return (key ^ key >> 29) * 0x9E3779B97F4A7C15ULL; }
  };
  tsl::robin_map<std::uint64_t, DurationNs, Hash> sums_;
};

// The longest gaps so far, as a heap with the shortest of them on top.
class LongestGaps {
 public:
  void offer(const DeviceGap& gap) {
    if (kept_.size() == kMostGaps && !longer(gap, kept_.front())) return;
    kept_.push_back(gap);
    std::push_heap(kept_.begin(), kept_.end(), longer);
    if (kept_.size() <= kMostGaps) return;
    std::pop_heap(kept_.begin(), kept_.end(), longer);
    kept_.pop_back();
  }
  [[nodiscard]] std::vector<DeviceGap> sorted() {
    std::sort(kept_.begin(), kept_.end(), longer);
    return kept_;
  }

 private:
  static bool longer(const DeviceGap& a, const DeviceGap& b) {
    if (a.at.length_ns() != b.at.length_ns()) return a.at.length_ns() > b.at.length_ns();
    return a.at.start_ns < b.at.start_ns;
  }
  std::vector<DeviceGap> kept_;
};

// The longest parts by name; what is left over goes by label, so that they still add up to the gap.
std::vector<GapPart> parts_of(const std::vector<HostSlice>& blame) {
  DetailSums sums;
  for (const HostSlice& slice : blame) sums.add(slice);
  std::vector<GapPart> parts;
  IdleByCause rest{};
  for (const DetailCost& cost : sums.sorted()) {
    if (parts.size() < kMostParts) {
      parts.push_back({cost.length_ns, cost.label, cost.detail});
    } else {
      rest[static_cast<std::size_t>(cost.label)] += cost.length_ns;
    }
  }
  for (std::size_t label = 0; label < kHostLabelCount; ++label) {
    if (rest[label] > 0) parts.push_back({rest[label], static_cast<HostLabel>(label), {}});
  }
  return parts;
}

DeviceIdle compute_device_idle(const Trace& trace, const Steps& steps, GapReader gaps, DeviceId device,
                               const HostPath& path) {
  DeviceIdle idle;
  idle.device = device;
  idle.blame_by_step_ns.resize(steps.steps.size());
  idle.edges_by_step_ns.resize(steps.steps.size());
  GapTeller teller(trace, path);
  StepSplitter splitter(steps.steps);
  DetailSums details;
  LongestGaps longest;
  DeviceGap gap;
  GapStory story;
  std::vector<Piece> pieces;
  while (gaps.next(gap)) {
    teller.tell(gap, story);
    splitter.split(gap.at, pieces);
    add_view(story.blame, pieces, idle.blame_ns, idle.blame_by_step_ns);
    add_view(story.edges, pieces, idle.edges_ns, idle.edges_by_step_ns);
    for (const HostSlice& slice : story.blame) details.add(slice);
    if (story.blocked_by) idle.drained_by_wait_ns += gap.at.length_ns();
    longest.offer(gap);
  }

  idle.details = details.sorted();
  if (idle.details.size() > kMostDetails) idle.details.resize(kMostDetails);
  for (const DeviceGap& kept : longest.sorted()) {
    teller.tell(kept, story);
    idle.largest.push_back({kept.at, kept.ended_by, story.blocked_by, parts_of(story.blame)});
  }
  return idle;
}

}  // namespace

std::vector<DeviceIdle> compute_idle(const Trace& trace, const GpuTimeline& timeline, const Launches& launches,
                                     const Steps& steps, const std::vector<DeviceBusy>& busy, const HostPath& path,
                                     std::size_t main_device) {
  std::vector<DeviceIdle> idle(busy.size());
  for (std::size_t at = 0; at < busy.size(); ++at) {
    idle[at].device = busy[at].device;
    idle[at].attributed = false;
  }
  const std::vector<std::size_t> chosen = busiest_devices(busy, kMostDevicesInFull, main_device);
  parallel_for(chosen.size(), 0, [&](std::size_t i) {
    const std::size_t at = chosen[i];
    GapReader gaps(trace, timeline, launches, steps, busy[at]);
    idle[at] = compute_device_idle(trace, steps, gaps, busy[at].device, path);
  });
  return idle;
}

}  // namespace stepscope

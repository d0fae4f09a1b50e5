// Single what-ifs, and how much memory would have been enough.
//
// An allocator is not monotone: with a little more memory a segment is kept that a retry would have released, and a
// later request fails. So the least capacity is searched by halving and then tried at larger ones; where one of those
// fails the search goes on above it. It is a capacity that serves, whose next lower step does not.
#include <algorithm>

#include "memory/allocator_simulation.h"

namespace stepscope {
namespace {

// All that is reserved comes in segments and pages of whole megabytes, nearly always of two.
constexpr std::int64_t kStepBytes = kMiB;

class CapacitySearch {
 public:
  CapacitySearch(const AllocatorSimulation& simulation, const AllocatorConfig& config)
      : simulation_(simulation), config_(config) {}

  std::optional<std::int64_t> find() {
    const AllocatorRun unlimited = simulation_.run(config_, {});
    if (unlimited.oom) return {};
    if (!config_.caching) return unlimited.reserved_peak_bytes;
    // Below what is allocated at once nothing can serve; at 0 nothing is asked for.
    std::int64_t fails = std::max<std::int64_t>(unlimited.allocated_peak_bytes - 1, 0) / kStepBytes;
    const auto serves = find_serving(unlimited.reserved_peak_bytes);
    if (!serves) return {};
    if (unlimited.allocated_peak_bytes == 0) return 0;
    std::int64_t least = halve(fails, *serves);
    constexpr int kMostRounds = 8;  // each lies above all before
    for (int round = 0; round < kMostRounds; ++round) {
      const auto gap = find_failing_above(least, *serves);
      if (!gap) break;
      least = halve(*gap, *serves);
    }
    return least * kStepBytes;
  }

 private:
  [[nodiscard]] bool is_enough(std::int64_t steps) const { return !simulation_.run(config_, steps * kStepBytes).oom; }

  // A cap is held against whole segments, and collects garbage: the peak without one may be a little too low.
  [[nodiscard]] std::optional<std::int64_t> find_serving(std::int64_t peak_bytes) const {
    std::int64_t steps = (peak_bytes + kStepBytes - 1) / kStepBytes;
    for (std::int64_t more = config_.large_segment_bytes / kStepBytes;
         steps * kStepBytes <= AllocatorLimits{}.device_bytes; steps += more, more *= 2) {
      if (is_enough(steps)) return steps;
    }
    return {};
  }

  [[nodiscard]] std::int64_t halve(std::int64_t fails, std::int64_t serves) const {
    while (serves - fails > 1) {
      const std::int64_t middle = fails + (serves - fails) / 2;
      (is_enough(middle) ? serves : fails) = middle;
    }
    return serves;
  }

  // The largest that fails of some between: the next few, where a segment more or less decides, and some spread out.
  [[nodiscard]] std::optional<std::int64_t> find_failing_above(std::int64_t least, std::int64_t serves) const {
    constexpr std::int64_t kNext = 4, kSpread = 8;
    std::vector<std::int64_t> places;
    for (std::int64_t i = 1; i <= kNext; ++i) places.push_back(least + i);
    for (std::int64_t i = 1; i < kSpread; ++i) places.push_back(least + (serves - least) * i / kSpread);
    std::sort(places.rbegin(), places.rend());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const std::int64_t place : places) {
      if (place > least && place < serves && !is_enough(place)) return place;
    }
    return {};
  }

  const AllocatorSimulation& simulation_;
  const AllocatorConfig& config_;
};

}  // namespace

std::optional<std::int64_t> find_least_capacity(const AllocatorSimulation& simulation, const AllocatorConfig& config) {
  return CapacitySearch(simulation, config).find();
}

std::optional<std::int64_t> find_least_capacity(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                const AllocatorConfig& config) {
  return find_least_capacity(AllocatorSimulation(snapshot, device), config);
}

AllocatorRun simulate_allocator(const MemorySnapshot& snapshot, SnapshotDeviceId device, const AllocatorConfig& config,
                                std::optional<std::int64_t> capacity_bytes) {
  return AllocatorSimulation(snapshot, device).run(config, capacity_bytes);
}

std::optional<std::int64_t> recorded_capacity(const MemorySnapshot& snapshot, SnapshotDeviceId device) {
  const SnapshotEntries& entries = snapshot.entries;
  const AllocatorConfig config = recorded_allocator_config(snapshot);
  const AllocatorRequests requests = build_allocator_requests(snapshot, device);
  std::int64_t reserved = requests.reserved_start_bytes;
  std::optional<std::int64_t> capacity;
  for (const SnapshotEntryId entry : snapshot.devices.entries[device].ids()) {
    const std::int64_t bytes = std::min(entries.size_bytes[entry], kMostBytes);
    switch (entries.action[entry]) {
      case AllocatorAction::kSegmentAlloc:
      case AllocatorAction::kSegmentMap:
        reserved = static_cast<std::int64_t>(static_cast<std::uint64_t>(reserved) + static_cast<std::uint64_t>(bytes));
        break;
      case AllocatorAction::kSegmentFree:
      case AllocatorAction::kSegmentUnmap:
        reserved = static_cast<std::int64_t>(static_cast<std::uint64_t>(reserved) - static_cast<std::uint64_t>(bytes));
        break;
      case AllocatorAction::kOom: {
        if (reserved < 0 || reserved > AllocatorLimits{}.device_bytes) return {};
        const std::int64_t wanted = segment_bytes_for(config, round_request(config, bytes));
        const bool device_refused = entries.address[entry] < static_cast<std::uint64_t>(wanted);
        // A cap lies between what was ever reserved and what was refused; the former is sure.
        capacity = device_refused ? reserved + static_cast<std::int64_t>(entries.address[entry])
                                  : std::min(requests.reserved_peak_bytes, reserved + wanted - 1);
        break;
      }
      default:
        break;
    }
  }
  return capacity;
}

}  // namespace stepscope

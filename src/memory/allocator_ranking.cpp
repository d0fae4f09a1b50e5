// Settings worth trying, all simulated, best first.
//
// The list: what PyTorch's own messages and documentation advise, each alone, at values that are used; and the pairs
// that act on different things. Settings that come out the same stay in, since that is an answer too. Each is a run of
// its own over shared requests, so they run side by side.
#include <algorithm>
#include <tuple>

#include "base/parallel.h"
#include "memory/allocator_simulation.h"

namespace stepscope {
namespace {

constexpr const char* kCandidates[] = {
    "default",
    "expandable_segments:True",
    "max_split_size_mb:128",
    "max_split_size_mb:256",
    "max_split_size_mb:512",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:16",
    "garbage_collection_threshold:0.6",
    "garbage_collection_threshold:0.8",
    "large_segment_size_mb:12",
    "large_segment_size_mb:40",
    "large_segment_size_mb:100",
    "expandable_segments:True,large_segment_size_mb:12",
    "expandable_segments:True,roundup_power2_divisions:8",
    "max_split_size_mb:256,garbage_collection_threshold:0.8",
    "max_split_size_mb:256,roundup_power2_divisions:8",
    "no_caching",
};

std::vector<AllocatorWhatIf> list_candidates(const AllocatorConfig& recorded, bool is_capped) {
  std::vector<AllocatorWhatIf> candidates;
  const auto add = [&](const AllocatorConfig& config) {
    const auto is_same = [&](const AllocatorWhatIf& each) { return each.config == config; };
    if (std::any_of(candidates.begin(), candidates.end(), is_same)) return;
    candidates.push_back({describe_allocator_config(config), config, {}, {}});
  };
  add(recorded);
  for (const char* text : kCandidates) {
    auto parsed = parse_allocator_config(text);
    if (!parsed.has_value()) continue;  // a test holds that none is
    AllocatorConfig& config = parsed.value();
    config.expandable_private_pools = recorded.expandable_private_pools;
    // Collection acts under a cap alone: without one it is the same setting without it.
    if (config.garbage_collection_threshold > 0 && !is_capped) continue;
    add(config);
  }
  return candidates;
}

// Those that serve all first; without the cache last, as each of its allocations waits for the GPU.
auto rank_key(const AllocatorWhatIf& each) {
  return std::tuple(!each.config.caching, each.run.oom.has_value(), each.run.reserved_peak_bytes, each.run.retries,
                    each.run.cuda_malloc_count);
}

}  // namespace

std::vector<AllocatorWhatIf> rank_settings(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                           std::optional<std::int64_t> capacity_bytes) {
  const AllocatorSimulation simulation(snapshot, device);
  const bool is_capped = capacity_bytes.has_value() && simulation.capacity_kind() == CapacityKind::kCap;
  std::vector<AllocatorWhatIf> settings = list_candidates(simulation.recorded_config(), is_capped);
  // The least capacity takes some 25 runs, at this number of steps 0.3 s a setting on one core; of more the ranking
  // alone is what one waits for.
  constexpr std::size_t kMostStepsForCapacity = 100'000;
  const bool finds_capacity = simulation.requests().steps.size() <= kMostStepsForCapacity;
  parallel_for(settings.size(), 0, [&](std::size_t i) {
    AllocatorWhatIf& each = settings[i];
    each.run = simulation.run(each.config, capacity_bytes);
    if (finds_capacity) each.least_capacity_bytes = find_least_capacity(simulation, each.config);
  });
  std::stable_sort(settings.begin(), settings.end(),
                   [](const AllocatorWhatIf& a, const AllocatorWhatIf& b) { return rank_key(a) < rank_key(b); });
  return settings;
}

}  // namespace stepscope

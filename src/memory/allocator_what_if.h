// Would another setting of the allocator have avoided this out-of-memory, or held less? By re-simulation, with proof.
//
// The recorded requests are given to a re-simulation of PyTorch's caching allocator, written from its documented rules.
// First under the recorded settings: if it returns every recorded address it is that allocator, for this program, and
// its answers for other settings are shown; if it does not, they are withheld. What an allocator does never depends on
// addresses of the device, so they are taken from the recording where it has them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/snapshot.h"

namespace stepscope {

// As PYTORCH_CUDA_ALLOC_CONF sets them; the defaults are PyTorch's.
struct AllocatorConfig {
  bool expandable_segments = false;
  std::optional<std::int64_t> max_split_size_bytes;  // missing: unlimited
  std::int64_t max_non_split_rounding_bytes = 20LL << 20;
  std::array<std::int64_t, 16> roundup_power2_divisions{};  // [i]: sizes up to 2^(i+1) MiB; the last: all above
  double garbage_collection_threshold = 0;                  // of the capacity; 0: off
  std::int64_t large_segment_bytes = 20LL << 20;
  bool caching = true;  // false: PYTORCH_NO_CUDA_MEMORY_CACHING=1
};

// Any text that PYTORCH_CUDA_ALLOC_CONF takes, and "no_caching". Keys that do not change what is reserved
// (pinned_..., backend:native, release_lock_on_cudamalloc) are accepted; backend:cudaMallocAsync is an error that says
// it cannot be simulated. Errors name the key and what it wants.
[[nodiscard]] Result<AllocatorConfig> parse_allocator_config(std::string_view conf);
// The shortest text that sets it; "default" for the defaults.
[[nodiscard]] std::string describe_allocator_config(const AllocatorConfig& config);
// As the snapshot says; defaults where it is silent.
[[nodiscard]] AllocatorConfig recorded_allocator_config(const MemorySnapshot& snapshot);

struct ReplayProof {
  std::int64_t matched = 0;  // allocations that got the recorded address
  std::int64_t total = 0;
  std::string first_mismatch;  // a sentence: entry, size, got, recorded; empty if none
  [[nodiscard]] bool is_proven() const { return total > 0 && matched == total; }
};
[[nodiscard]] ReplayProof replay_recorded(const MemorySnapshot& snapshot, SnapshotDeviceId device);

struct SimulatedOom {
  SnapshotEntryId entry;           // the alloc or oom entry whose request failed
  std::int64_t request_bytes = 0;  // rounded under the simulated settings
};

struct AllocatorRun {
  std::int64_t reserved_peak_bytes = 0, allocated_peak_bytes = 0, requested_peak_bytes = 0;
  std::int64_t reserved_end_bytes = 0;
  std::int64_t retries = 0;
  std::int64_t cuda_malloc_count =
      0;                            // calls of the device: segments, pages mapped, or each allocation without caching
  std::optional<SimulatedOom> oom;  // the run ends there
};
// `capacity_bytes`: what the process may hold (missing: unlimited).
[[nodiscard]] AllocatorRun simulate_allocator(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                              const AllocatorConfig& config,
                                              std::optional<std::int64_t> capacity_bytes);

// The least capacity under which all requests, the one of the oom entry included, are served; missing where no capacity
// would do within 2^50 bytes.
[[nodiscard]] std::optional<std::int64_t> find_least_capacity(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                              const AllocatorConfig& config);

// The capacity that the recording itself shows: at an oom, reserved + what the device had left or the cap that refused.
[[nodiscard]] std::optional<std::int64_t> recorded_capacity(const MemorySnapshot& snapshot, SnapshotDeviceId device);

struct AllocatorWhatIf {
  std::string settings;  // as asked, or describe_allocator_config
  AllocatorConfig config;
  AllocatorRun run;
  std::optional<std::int64_t> least_capacity_bytes;
};
// Sensible settings for this recording, run and ranked: those that avoid the oom first, then by reserved peak.
[[nodiscard]] std::vector<AllocatorWhatIf> rank_settings(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                         std::optional<std::int64_t> capacity_bytes);

}  // namespace stepscope

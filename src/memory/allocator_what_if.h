// Would another setting of the allocator have avoided this out-of-memory, or held less? By re-simulation, with proof.
//
// The recorded requests are given to a re-simulation of PyTorch's caching allocator, written from its documented rules.
// First under the recorded settings: if it returns every recorded address it is that allocator, for this program, and
// its answers for other settings are shown; if it does not, they are withheld. Addresses of the device decide only
// which of two equally large blocks is taken; they are taken from the recording where it has them.
//
// What is taken from the recording whatever the settings: when frees complete (streams that still use a block), and the
// program's own calls of empty_cache, as far as they freed something. Definitions: docs/memory.md.
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
  // Whether private pools (CUDA graphs) have expandable segments too, as in newer versions. No setting of the user.
  bool expandable_private_pools = true;

  bool operator==(const AllocatorConfig&) const = default;
};

// Any text that PYTORCH_CUDA_ALLOC_CONF takes, also after "PYTORCH_CUDA_ALLOC_CONF="; "default" or
// nothing; and "no_caching". Keys that do not change what is reserved (pinned_..., backend:native,
// release_lock_on_cudamalloc) are accepted; backend:cudaMallocAsync and per_process_memory_fraction are errors that say
// why they cannot be simulated. Errors name the key, its place and what it wants.
[[nodiscard]] Result<AllocatorConfig> parse_allocator_config(std::string_view conf);
// The shortest text that sets it; "default" for the defaults.
[[nodiscard]] std::string describe_allocator_config(const AllocatorConfig& config);
// As the snapshot says; defaults where it is silent. Never fails: what cannot be is left at its default.
[[nodiscard]] AllocatorConfig recorded_allocator_config(const MemorySnapshot& snapshot);

struct ReplayProof {
  std::int64_t matched = 0;  // allocations that got the recorded address
  std::int64_t total = 0;
  std::int64_t device_call_matched = 0;  // segments and pages taken and given back where and when they were recorded
  std::int64_t device_call_total = 0;
  // Blocks older than the history whose size nothing tells (the rounded request is taken; in plain large segments it
  // may be up to 1 MiB more). Where there are any, allocated and active of a run may be off by that much.
  std::int64_t older_estimated_count = 0;
  std::string first_mismatch;  // a sentence: entry, size, recorded, got; empty if none
  [[nodiscard]] bool is_proven() const { return total > 0 && matched == total && first_mismatch.empty(); }
};
[[nodiscard]] ReplayProof replay_recorded(const MemorySnapshot& snapshot, SnapshotDeviceId device);

// For the facts' maker: the true size of the block that each alloc entry got, by entry within the device (size = its
// entries; 0: no alloc). Rounding a request does not give it: a block whose rest is too small to split is handed out
// whole, and torch's allocated and active levels count it whole. All 0 where the replay is not proven. Of blocks older
// than the history those live at the end have their size in the segments; the others' are not known.
[[nodiscard]] std::vector<std::int64_t> replay_block_sizes(const MemorySnapshot& snapshot, SnapshotDeviceId device);

struct SimulatedOom {
  SnapshotEntryId entry;           // the alloc or oom entry whose request failed; empty: a block older than the history
  std::int64_t request_bytes = 0;  // rounded under the simulated settings
};

struct AllocatorRun {
  // Of torch's statistics; without caching reserved and allocated are the sum of the live requests, in 512 bytes.
  std::int64_t reserved_peak_bytes = 0, allocated_peak_bytes = 0, requested_peak_bytes = 0;
  std::int64_t reserved_end_bytes = 0;
  std::int64_t retries = 0;
  // Within the history, as torch's num_device_alloc: segments, mappings of pages, or allocations without caching.
  std::int64_t cuda_malloc_count = 0;
  std::optional<SimulatedOom> oom;  // the run ends there
};
// `capacity_bytes`: what the process may hold (missing: unlimited). It refuses as a cap of
// set_per_process_memory_fraction does, under which alone garbage is collected; or, if an oom of the recording shows
// that the device itself had too little left, as a device does. The request of an oom entry is made too; one that is
// served now is freed at once if the recording goes on, since the program went on without it.
[[nodiscard]] AllocatorRun simulate_allocator(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                              const AllocatorConfig& config,
                                              std::optional<std::int64_t> capacity_bytes);

// The least capacity, in MiB, under which all requests, the one of the oom entry included, are served; missing where no
// capacity would do within 2^50 bytes. An allocator may fail with a little more than what served it: this one was tried
// and serves, with 1 MiB less it fails, and of larger ones some were tried and all serve.
[[nodiscard]] std::optional<std::int64_t> find_least_capacity(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                              const AllocatorConfig& config);

// The capacity that the recording itself shows, at its last oom: reserved + what the device had left; or, where a cap
// refused although the device had enough, what had been reserved at most (the cap is that or a little more: the same
// requests fail under both). Missing: no oom.
[[nodiscard]] std::optional<std::int64_t> recorded_capacity(const MemorySnapshot& snapshot, SnapshotDeviceId device);

struct AllocatorWhatIf {
  std::string settings;  // as asked, or describe_allocator_config
  AllocatorConfig config;
  AllocatorRun run;
  std::optional<std::int64_t> least_capacity_bytes;
};
// Sensible settings for this recording, run and ranked: those that avoid the oom first, then by reserved peak;
// no_caching last, as the floor: each of its allocations waits for the GPU. The recorded settings are among them.
// Settings with garbage collection only where there is a cap. least_capacity_bytes is missing for histories of over
// 100,000 steps (a few seconds would become minutes); find_least_capacity gives it for one.
[[nodiscard]] std::vector<AllocatorWhatIf> rank_settings(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                         std::optional<std::int64_t> capacity_bytes);

}  // namespace stepscope

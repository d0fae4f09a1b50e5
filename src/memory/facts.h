// Facts of a memory snapshot: levels with their peaks, every allocation with its life, the live set at any moment.
//
// The history of a snapshot begins in mid-life: what is freed unseen, or live at the end unseen, was live before it. So
// the level at the start is the level at the end less the net change, and a replay from zero (which other viewers do)
// is wrong by all that is older. Definitions of the four levels: docs/glossary.md; algorithms: docs/memory.md.
//
// A moment is a number of entries of the device already done: moment 0 is before the first entry, moment k after entry
// k - 1. A peak's `entry` is the entry after which the level was first at its highest.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "memory/snapshot.h"

namespace stepscope {

using AllocationId = Id<struct AllocationTag>;

enum class MemoryLevelKind : std::uint8_t {
  kRequested,  // bytes asked for, until the free completes
  kAllocated,  // rounded, until the free is requested
  kActive,     // rounded, until the free completes
  kReserved,   // held from the device
};
inline constexpr std::size_t kMemoryLevelKindCount = 4;
[[nodiscard]] std::string_view memory_level_name(MemoryLevelKind kind);  // "requested", ...

struct LevelFacts {
  std::int64_t start_bytes = 0, peak_bytes = 0, end_bytes = 0;
  SnapshotEntryId peak_entry;  // empty: the peak is the level at the start
};

// How an allocation came by its category.
enum class CategorySource : std::uint8_t { kNone, kRecorded, kAddressMap, kInferred };

// Every allocation that was live at some moment of the history, or is live in the segments; grouped by device, in order
// of alloc_moment, those older than the history first (by address).
#define STEPSCOPE_ALLOCATION_COLUMNS(COLUMN)                                                                         \
  COLUMN(std::uint64_t, address, "start")                                                                            \
  COLUMN(std::int64_t, requested_bytes, "as asked for")                                                              \
  COLUMN(std::int64_t, size_bytes, "rounded; from the segments where the block is live there, else by the settings") \
  COLUMN(SnapshotEntryId, alloc_entry, "empty: older than the history")                                              \
  COLUMN(SnapshotEntryId, free_requested_entry, "empty: not requested")                                              \
  COLUMN(SnapshotEntryId, free_completed_entry, "empty: still held at the end")                                      \
  COLUMN(SnapshotStackId, stack, "of the allocation; empty: older than the history and freed, or no frames")         \
  COLUMN(SnapshotStreamId, stream, "empty if absent")                                                                \
  COLUMN(SnapshotPoolId, pool, "empty if absent")                                                                    \
  COLUMN(SnapshotAnnotationId, span, "START of the innermost annotation open at the allocation; empty: none")        \
  COLUMN(MemoryCategory, category, "see category_source")                                                            \
  COLUMN(CategorySource, category_source, "kNone: kUnknown")
STEPSCOPE_TABLE(Allocations, AllocationId, STEPSCOPE_ALLOCATION_COLUMNS);

// The free memory that an allocator holds, at the end or at an oom.
struct Fragmentation {
  std::int64_t free_bytes = 0;          // reserved and in no active block
  std::int64_t largest_free_bytes = 0;  // one piece
  std::int64_t free_piece_count = 0;
  std::int64_t in_private_pools_bytes = 0;  // of free_bytes, what only its own pool (CUDA graphs) may use
  std::int64_t on_other_streams_bytes = 0;  // of free_bytes, in pieces of streams other than the asking one's
};

struct OomFacts {
  SnapshotEntryId entry;
  std::int64_t request_bytes = 0;  // rounded
  MaybeInt device_free_bytes;
  std::int64_t reserved_bytes = 0, allocated_bytes = 0;  // at that moment
  // Free pieces of the pool that the request would be served from; missing where the moment is not the snapshot's.
  std::optional<Fragmentation> fragmentation;
  bool is_fragmentation = false;  // enough was free in all, in no piece large enough
};

struct DeviceMemoryFacts {
  SnapshotDeviceId device;
  bool has_history = false;  // entries that move memory; else only end_bytes are known
  std::array<LevelFacts, kMemoryLevelKindCount> levels{};
  IdRange<AllocationId> allocations;
  Fragmentation fragmentation;                              // at the end, over all pools and streams
  std::vector<OomFacts> ooms;                               // in order
  std::int64_t cuda_malloc_count = 0, cuda_free_count = 0;  // segment_alloc and segment_map; _free and _unmap
  // Entries whose effect contradicts what was known (a second alloc at a live address, a free of nothing that was or is
  // live): the recording lost something, so levels may be wrong by this much.
  std::int64_t contradiction_count = 0;
};

// Boundaries of steps from annotations (ProfilerStep#, Optimizer.step#, the caller's name): moments of the device's
// entries. Step k is [moments[k], moments[k + 1]).
struct MemorySteps {
  std::string name;  // annotation that marks them; empty: no steps known
  std::vector<std::size_t> moments;
  std::vector<std::int64_t> peak_bytes;     // of the allocated level in each step
  std::vector<SnapshotEntryId> peak_entry;  // empty: at the step's begin
};

struct MemoryFacts {
  Allocations allocations;
  Column<SnapshotDeviceId, DeviceMemoryFacts> devices;
  SnapshotDeviceId main_device;  // the one with most activity; empty: no device
  Column<SnapshotDeviceId, MemorySteps> steps;
};

struct MemoryFactsOptions {
  std::string steps_name;  // annotation to take for steps; empty: found
};

[[nodiscard]] MemoryFacts compute_memory_facts(const MemorySnapshot& snapshot, const MemoryFactsOptions& options = {});

// The level after each entry of the device (size = its entries + 1; [0] is the start).
[[nodiscard]] std::vector<std::int64_t> compute_level(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                      SnapshotDeviceId device, MemoryLevelKind kind);

// Live (allocated until the free completes) at a moment of the device; see the top.
[[nodiscard]] std::vector<AllocationId> find_live(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                  SnapshotDeviceId device, std::size_t moment);

enum class LiveGrouping : std::uint8_t { kLine, kStack, kCategory, kSpan, kModule, kDevice, kStream, kPool };

struct LiveGroup {
  std::string name;  // "train.py:41 forward", or one of the sentences below
  std::int64_t bytes = 0;
  std::int64_t count = 0;
};
inline constexpr std::string_view kNoFramesRecorded = "no frames recorded";
inline constexpr std::string_view kOlderThanHistory = "older than the history";

// Requested bytes by group, most first, ties by name.
[[nodiscard]] std::vector<LiveGroup> group_live(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                std::span<const AllocationId> live, LiveGrouping by);

// The user's frame of a stack: the first, from the inside, that is not in site-packages, dist-packages, torch or the
// standard library; for C++-only stacks the innermost that is not an allocator's or torch's. Empty id: none.
[[nodiscard]] SnapshotFrameId find_user_frame(const MemorySnapshot& snapshot, SnapshotStackId stack);
// "file.py:41 function", file as written.
[[nodiscard]] std::string describe_frame(const MemorySnapshot& snapshot, SnapshotFrameId frame);

// What grew between two moments: allocated after `before` and still live at `after`, grouped.
[[nodiscard]] std::vector<LiveGroup> find_growth(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                 SnapshotDeviceId device, std::size_t before, std::size_t after,
                                                 LiveGrouping by);

struct ByteTimeGroup {
  std::string name;
  double byte_seconds = 0;  // requested bytes times the time held within the history
  std::int64_t bytes = 0, count = 0;
};
[[nodiscard]] std::vector<ByteTimeGroup> group_byte_time(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                         SnapshotDeviceId device, LiveGrouping by);
// Allocated within the history, never freed in it, grouped.
[[nodiscard]] std::vector<LiveGroup> group_never_freed(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                       SnapshotDeviceId device, LiveGrouping by);

// The moment named by the user: "peak" (of the allocated level), "oom" (the last), "end", "start", an entry number
// within the device ("#123"), or a time: seconds since the first entry ("2.5s", "300ms"), or us since 1970.
[[nodiscard]] Result<std::size_t> find_moment(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                              SnapshotDeviceId device, std::string_view text);

}  // namespace stepscope

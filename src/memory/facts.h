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
#define STEPSCOPE_ALLOCATION_COLUMNS(COLUMN)                                                                  \
  COLUMN(std::uint64_t, address, "start")                                                                     \
  COLUMN(std::int64_t, requested_bytes, "as asked for")                                                       \
  COLUMN(std::int64_t, size_bytes, "its block: see estimated_size_count")                                     \
  COLUMN(SnapshotEntryId, alloc_entry, "empty: older than the history")                                       \
  COLUMN(SnapshotEntryId, free_requested_entry, "empty: not requested within the history")                    \
  COLUMN(SnapshotEntryId, free_completed_entry, "empty: still held at the end")                               \
  COLUMN(SnapshotStackId, stack, "of the allocation; empty: older than the history and freed, or no frames")  \
  COLUMN(SnapshotStreamId, stream, "empty if absent")                                                         \
  COLUMN(SnapshotPoolId, pool, "empty if absent")                                                             \
  COLUMN(SnapshotAnnotationId, span, "START of the innermost annotation open at the allocation; empty: none") \
  COLUMN(MemoryCategory, category, "see category_source")                                                     \
  COLUMN(CategorySource, category_source, "kNone: kUnknown")                                                  \
  COLUMN(std::uint8_t, is_free_pending_at_start,                                                              \
         "1: its free was requested before the history: active, not allocated")                               \
  COLUMN(std::uint8_t, is_sum, "1: stands for allocations of which only the sum is known; held throughout")
STEPSCOPE_TABLE(Allocations, AllocationId, STEPSCOPE_ALLOCATION_COLUMNS);

// Free memory that an allocator holds from the device, in pieces.
struct Fragmentation {
  std::int64_t free_bytes = 0;          // in no active block
  std::int64_t largest_free_bytes = 0;  // one piece
  std::int64_t free_piece_count = 0;
};

// Every free byte of the device is in exactly one of `usable` and the four that follow, the first that applies.
struct OomFragmentation {
  Fragmentation usable;                           // pieces that the request could be served from, were one large enough
  std::int64_t in_other_private_pools_bytes = 0;  // only for the CUDA graph that owns the pool
  std::int64_t in_default_pool_bytes = 0;         // in the default pool, while the request is a private pool's
  std::int64_t on_other_streams_bytes = 0;        // a stream never takes another's pieces
  std::int64_t in_other_size_class_bytes = 0;     // requests up to 1 MiB and larger ones are served apart
};

struct OomFacts {
  SnapshotEntryId entry;
  std::int64_t request_bytes = 0;  // rounded
  MaybeInt device_free_bytes;
  std::int64_t reserved_bytes = 0, allocated_bytes = 0;  // at that moment
  // Missing where memory moved between the oom and the snapshot: the free pieces of that moment are not known.
  std::optional<OomFragmentation> fragmentation;
  // The usable pieces together would have served the request, none alone. What the device had left does not count: a
  // cap (set_per_process_memory_fraction) may forbid it.
  bool is_fragmentation = false;
  // The device had as much left as the allocator asks of it for such a request, which is more than the request (a
  // segment of 20 MiB for 5 MiB): not the device refused, but a cap of the process.
  bool is_refused_by_cap = false;
};

struct DeviceMemoryFacts {
  SnapshotDeviceId device;
  bool has_history = false;  // entries that move memory; else only end_bytes are known
  std::array<LevelFacts, kMemoryLevelKindCount> levels{};
  IdRange<AllocationId> allocations;
  Fragmentation fragmentation;                   // at the end, over all pools and streams
  std::int64_t free_in_private_pools_bytes = 0;  // of fragmentation.free_bytes, what only a CUDA graph may use
  std::vector<OomFacts> ooms;                    // in order
  std::int64_t cuda_malloc_count = 0, cuda_free_count = 0;  // segment_alloc and segment_map; _free and _unmap
  // Entries whose effect contradicts what was known (a second alloc at a live address, a free of nothing that was or is
  // live): the recording lost something, so levels may be wrong by this much.
  std::int64_t contradiction_count = 0;
  // Allocations older than the history; their bytes are levels[...].start_bytes. Missing where a trace tells only their
  // sum.
  MaybeInt older_count = 0;
  // Nothing is older than the history and it lost nothing, so the peaks are those of the process: what
  // torch.cuda.max_memory_allocated() gave, unless it was reset. Else a higher peak may lie before the history.
  bool is_whole_life = false;
  // Allocations whose block may have been larger than size_bytes says: an allocator gives out a whole block where the
  // rest is too small to split off, and the recording does not tell which block these had. See docs/memory.md.
  std::int64_t estimated_size_count = 0;
};

// Boundaries of steps from annotations (ProfilerStep#, Optimizer.step#, the caller's name): moments of the device's
// entries. Step k is [moments[k], moments[k + 1]): moments has one more than there are steps, or is empty.
struct MemorySteps {
  std::string name;  // annotation that marks them, without its number; empty: no steps known
  std::vector<std::size_t> moments;
  std::vector<std::int64_t> numbers;        // as the annotation says ("ProfilerStep#12"), else counted from 0
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

// The moment at which an entry has just been done; 0 for the empty entry (a peak that is the level at the start).
[[nodiscard]] inline std::size_t moment_after(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                              SnapshotEntryId entry) {
  return entry.has_value() ? entry.value - snapshot.devices.entries[device].begin + 1 : 0;
}

// Live (allocated until the free completes) at a moment of the device; see the top.
[[nodiscard]] std::vector<AllocationId> find_live(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                  SnapshotDeviceId device, std::size_t moment);

// The same without what is held throughout, whose number of allocations is not known: in a difference of two moments it
// cancels out.
[[nodiscard]] std::vector<AllocationId> find_changing(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                      SnapshotDeviceId device, std::size_t moment);

enum class LiveGrouping : std::uint8_t { kLine, kStack, kCategory, kSpan, kModule, kDevice, kStream, kPool };

struct LiveGroup {
  std::string name;  // "train.py:41 forward", or one of the phrases below
  std::int64_t bytes = 0;
  MaybeInt count = 0;  // of allocations; missing where some of the bytes are such a sum (Allocations::is_sum)
};
// What became of an allocation by the end of the history. A free that waits for other streams was asked for: nothing
// keeps that tensor.
enum class AllocationEnd : std::uint8_t { kHeld, kFreePending, kFreed };
[[nodiscard]] inline AllocationEnd end_of(const Allocations& allocations, AllocationId row) {
  if (allocations.free_completed_entry[row].has_value()) return AllocationEnd::kFreed;
  return allocations.free_requested_entry[row].has_value() ? AllocationEnd::kFreePending : AllocationEnd::kHeld;
}
// 1; missing of a sum.
[[nodiscard]] inline MaybeInt count_of(const Allocations& allocations, AllocationId row) {
  return allocations.is_sum[row] != 0 ? MaybeInt{} : MaybeInt{1};
}
// Missing if either is.
[[nodiscard]] inline MaybeInt add_counts(MaybeInt a, MaybeInt b) {
  return a.has_value() && b.has_value() ? MaybeInt{a.value() + b.value()} : MaybeInt{};
}
inline constexpr std::string_view kNoFramesRecorded = "no frames recorded";
inline constexpr std::string_view kOlderThanHistory = "older than the history";
// What the autograd engine made, where the forward operator's frames were recorded: "backward of train.py:41 forward".
inline constexpr std::string_view kBackwardOf = "backward of ";
inline constexpr std::string_view kOutsideSpans = "outside spans";
inline constexpr std::string_view kOutsideModules = "outside modules";
inline constexpr std::string_view kNoStreamRecorded = "no stream recorded";
inline constexpr std::string_view kNoPoolRecorded = "no pool recorded";

// Requested bytes by group, most first, ties by name. A stack's name is its frames, outermost first, joined by ";".
[[nodiscard]] std::vector<LiveGroup> group_live(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                std::span<const AllocationId> live, LiveGrouping by);

// The user's frame of a stack: the first, from the inside, that is not in site-packages, dist-packages, torch or the
// standard library; for C++-only stacks the innermost that is not an allocator's or torch's. Empty id: none.
[[nodiscard]] SnapshotFrameId find_user_frame(const MemorySnapshot& snapshot, SnapshotStackId stack);
// "file.py:41 function", file as written.
[[nodiscard]] std::string describe_frame(const MemorySnapshot& snapshot, SnapshotFrameId frame);

// What differs at the peak of the highest step from an ordinary one: live bytes by group at its peak, less those at the
// peak of the step whose peak is the median.
struct StepComparison {
  std::size_t peak_step = 0, ordinary_step = 0;     // into MemorySteps
  std::int64_t peak_bytes = 0, ordinary_bytes = 0;  // allocated level
  std::vector<LiveGroup> differences;               // bytes and count signed, largest gain first, without zeros
};
// Empty where fewer than two steps are known.
[[nodiscard]] std::optional<StepComparison> compare_steps(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                          SnapshotDeviceId device, LiveGrouping by);

// What grew between two moments: allocated after `before` and still live at `after`, grouped.
[[nodiscard]] std::vector<LiveGroup> find_growth(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                 SnapshotDeviceId device, std::size_t before, std::size_t after,
                                                 LiveGrouping by);

// What a group held more when the last step ended than when the second began (the first makes what all later ones keep:
// optimizer state), and of how many steps between, the last left out, something is held still. What is
// made anew in every step (gradients, the batch) is held at both moments and cancels out.
struct StepGrowth {
  LiveGroup grown;  // bytes and count signed
  std::size_t step_count = 0;
};
// Most bytes first, without zeros; empty with fewer than two steps.
[[nodiscard]] std::vector<StepGrowth> find_step_growth(const MemorySnapshot& snapshot, const MemoryFacts& facts,
                                                       SnapshotDeviceId device, LiveGrouping by);

// Requested bytes times the time held within the history, most first; empty where the entries have no times (before
// torch 2.1).
struct ByteTimeGroup {
  std::string name;
  double byte_seconds = 0;
  std::int64_t bytes = 0;
  MaybeInt count = 0;  // as of LiveGroup
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

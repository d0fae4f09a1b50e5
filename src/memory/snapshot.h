// A memory snapshot of PyTorch's allocator: what it held when it was written, and what it did before, as columns.
//
// A snapshot is a pickle of dicts and lists (torch.cuda.memory._dump_snapshot), three quarters of it references to
// frames that many entries share. The columns keep each frame once and each stack once; an entry is 50 bytes and names
// its stack by number. Building the tree of dicts first, as Python does, was rejected: six times the memory.
//
// What the format says, version by version: docs/formats/memory-snapshot.md. Sizes of alloc and free entries are the
// bytes requested, not rounded; the size of an oom entry is rounded. Times are microseconds since 1970 (approximately:
// the recorder converts a cycle counter).
// From a file, all sizes of a table together stay below 2^62, so that no sum of them overflows.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/string_pool.h"
#include "trace/notes.h"
#include "trace/table.h"

namespace stepscope {

using SnapshotFrameId = Id<struct SnapshotFrameTag>;
using SnapshotStackId = Id<struct SnapshotStackTag>;
using SnapshotStreamId = Id<struct SnapshotStreamTag>;
using SnapshotPoolId = Id<struct SnapshotPoolTag>;
using SnapshotDeviceId = Id<struct SnapshotDeviceTag>;
using SnapshotEntryId = Id<struct SnapshotEntryTag>;
using SnapshotSegmentId = Id<struct SnapshotSegmentTag>;
using SnapshotBlockId = Id<struct SnapshotBlockTag>;
using SnapshotAnnotationId = Id<struct SnapshotAnnotationTag>;

enum class AllocatorAction : std::uint8_t {
  kAlloc,
  kFreeRequested,  // the program let go; other streams may still use it
  kFreeCompleted,  // the allocator may give it out again
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kOom,
  kSnapshot,
  kAnnotate,  // user_defined entries: no memory moves
  kUnknown,   // an action of a newer version: counted in the notes, otherwise without effect
};
// As the snapshot spells it.
[[nodiscard]] std::string_view allocator_action_name(AllocatorAction action);

enum class BlockState : std::uint8_t { kInactive, kActiveAllocated, kActivePendingFree };

// What a tensor is for. The order is that of torch's memory timeline, whose column and category numbers these are less
// 1 (kUnknown stands last there).
enum class MemoryCategory : std::uint8_t {
  kParameter,
  kOptimizerState,
  kInput,
  kTemporary,
  kActivation,
  kGradient,
  kAutogradDetail,
  kUnknown,
};
inline constexpr std::size_t kMemoryCategoryCount = 8;
// "parameter", "optimizer state", ...
[[nodiscard]] std::string_view memory_category_name(MemoryCategory category);

// Each distinct frame once.
#define STEPSCOPE_SNAPSHOT_FRAME_COLUMNS(COLUMN)          \
  COLUMN(StringId, name, "function, as written")          \
  COLUMN(StringId, file, "file name, as written; ?? too") \
  COLUMN(MaybeInt, line, "missing if absent or over 2^63 (C++ frames have 2^64-1)")
STEPSCOPE_TABLE(SnapshotFrames, SnapshotFrameId, STEPSCOPE_SNAPSHOT_FRAME_COLUMNS);

// Each distinct stack once. Frames are in SnapshotStackFrames[frames_begin, +frames_count), innermost first.
#define STEPSCOPE_SNAPSHOT_STACK_COLUMNS(COLUMN)                           \
  COLUMN(std::uint32_t, frames_begin, "into MemorySnapshot::stack_frames") \
  COLUMN(std::uint32_t, frames_count, "never 0: an entry without frames has no stack")
STEPSCOPE_TABLE(SnapshotStacks, SnapshotStackId, STEPSCOPE_SNAPSHOT_STACK_COLUMNS);

// Every GPU that the file has a list for or a segment on, by number.
#define STEPSCOPE_SNAPSHOT_DEVICE_COLUMNS(COLUMN)                                                  \
  COLUMN(std::int64_t, number, "CUDA ordinal: the place of its list in device_traces")             \
  COLUMN(IdRange<SnapshotEntryId>, entries, "its entries, in the order of the file: oldest first") \
  COLUMN(IdRange<SnapshotSegmentId>, segments, "its segments, by address")                         \
  COLUMN(std::uint8_t, is_history_cut,                                                             \
         "1: older entries fell out of the ring (entries == trace_alloc_max_entries, or overflow flag)")
STEPSCOPE_TABLE(SnapshotDevices, SnapshotDeviceId, STEPSCOPE_SNAPSHOT_DEVICE_COLUMNS);

// As `address` of an oom entry that does not say what the device had left.
inline constexpr std::uint64_t kUnknownFreeBytes = ~0ULL;

// What the allocator did: grouped by device, each device's in the order of the file.
#define STEPSCOPE_SNAPSHOT_ENTRY_COLUMNS(COLUMN)                                                          \
  COLUMN(AllocatorAction, action, "kUnknown if not known")                                                \
  COLUMN(MemoryCategory, category, "as a profiler wrote it; kUnknown if absent")                          \
  COLUMN(SnapshotStreamId, stream, "empty if absent")                                                     \
  COLUMN(SnapshotPoolId, pool, "empty if absent (before torch 2.12)")                                     \
  COLUMN(SnapshotStackId, stack, "empty if no frames were recorded")                                      \
  COLUMN(SnapshotStackId, forward_stack, "of the forward operator, inside backward; empty if absent")     \
  COLUMN(StringId, compile_context, "empty if absent or N/A")                                             \
  COLUMN(StringId, user_metadata, "empty if absent")                                                      \
  COLUMN(std::uint64_t, address, "of an oom: the device's free bytes, or kUnknownFreeBytes; 0 if absent") \
  COLUMN(std::int64_t, size_bytes, "requested; of an oom rounded; never negative")                        \
  COLUMN(MaybeInt, time_us, "us since 1970; missing before torch 2.1")
STEPSCOPE_TABLE(SnapshotEntries, SnapshotEntryId, STEPSCOPE_SNAPSHOT_ENTRY_COLUMNS);

// What the allocator held when the snapshot was written: grouped by device, by address.
#define STEPSCOPE_SNAPSHOT_SEGMENT_COLUMNS(COLUMN)                                               \
  COLUMN(SnapshotDeviceId, device, "always set")                                                 \
  COLUMN(std::uint64_t, address, "start")                                                        \
  COLUMN(std::int64_t, total_bytes, "taken from the device")                                     \
  COLUMN(std::int64_t, allocated_bytes, "of it in live blocks, rounded")                         \
  COLUMN(std::int64_t, active_bytes, "allocated, and blocks whose free is pending")              \
  COLUMN(MaybeInt, requested_bytes, "missing in old files")                                      \
  COLUMN(SnapshotStreamId, stream, "empty if absent")                                            \
  COLUMN(SnapshotPoolId, pool, "empty if absent")                                                \
  COLUMN(std::uint8_t, is_small, "1: segment_type small")                                        \
  COLUMN(std::uint8_t, is_expandable, "1: one contiguous mapped range of an expandable segment") \
  COLUMN(SnapshotStackId, stack, "empty if no frames were recorded")                             \
  COLUMN(IdRange<SnapshotBlockId>, blocks, "in the order of addresses, without holes")
STEPSCOPE_TABLE(SnapshotSegments, SnapshotSegmentId, STEPSCOPE_SNAPSHOT_SEGMENT_COLUMNS);

#define STEPSCOPE_SNAPSHOT_BLOCK_COLUMNS(COLUMN)                             \
  COLUMN(std::uint64_t, address, "start; running sum in old files")          \
  COLUMN(std::int64_t, size_bytes, "rounded")                                \
  COLUMN(MaybeInt, requested_bytes, "missing in old files, 0 when inactive") \
  COLUMN(BlockState, state, "kInactive: free")                               \
  COLUMN(SnapshotStackId, stack, "of its allocation; empty if not recorded") \
  COLUMN(std::uint8_t, is_sum, "1: of a trace, all that it only tells the sum of, not how many allocations")
STEPSCOPE_TABLE(SnapshotBlocks, SnapshotBlockId, STEPSCOPE_SNAPSHOT_BLOCK_COLUMNS);

// external_annotations: begin and end of spans (Optimizer.step, record_function, user marks), in order of time.
#define STEPSCOPE_SNAPSHOT_ANNOTATION_COLUMNS(COLUMN)             \
  COLUMN(StringId, name, "as written")                            \
  COLUMN(std::uint8_t, is_start, "1: stage START; else END")      \
  COLUMN(std::int64_t, device_number, "as written; -1 if absent") \
  COLUMN(MaybeInt, time_us, "us since 1970; missing if absent")
STEPSCOPE_TABLE(SnapshotAnnotations, SnapshotAnnotationId, STEPSCOPE_SNAPSHOT_ANNOTATION_COLUMNS);

// The allocator's settings as recorded; what an old file does not say is missing.
struct SnapshotSettings {
  bool is_recorded = false;       // the file has allocator_settings
  std::string conf;               // PYTORCH_CUDA_ALLOC_CONF / PYTORCH_ALLOC_CONF as written
  MaybeInt max_split_size_bytes;  // missing: unlimited or not recorded
  std::optional<double> garbage_collection_threshold;
  std::optional<bool> expandable_segments;
  // Power-of-2 divisions by the power of two of megabytes (1, 2, 4 ... 32768), as written; empty if absent.
  std::vector<std::pair<std::int64_t, std::int64_t>> roundup_power2_divisions;
  std::vector<std::pair<std::string, std::string>> others;  // key, value as text: every other scalar key
};

struct SnapshotInfo {
  std::string source;                // path, or "standard input"
  std::string format;                // "pickle", "json"
  std::int64_t pickle_protocol = 0;  // 0: JSON, or no PROTO opcode
  std::uint64_t byte_count = 0;      // decompressed size read
  bool has_history = false;          // any device has an entry that moves memory
  bool has_device_traces = false;    // the file has the key (a bare list of segments has not)
  MaybeInt trace_alloc_max_entries;
  std::optional<bool> trace_alloc_overflowed;
  // Of a trace: GPU time of the work that was launched in forward, of all: what computing forward again would cost.
  std::optional<double> forward_gpu_ratio;
  std::size_t host_segment_count = 0, host_entry_count = 0;  // host_segments, host_traces: counted, not analyzed
};

struct MemorySnapshot {
  StringPool strings;
  SnapshotInfo info;
  SnapshotSettings settings;
  Notes notes;

  SnapshotFrames frames;
  SnapshotStacks stacks;
  std::vector<SnapshotFrameId> stack_frames;                            // see SnapshotStacks
  Column<SnapshotStreamId, std::int64_t> streams;                       // the handle as written; 0 the default one
  Column<SnapshotPoolId, std::pair<std::int64_t, std::int64_t>> pools;  // (0, 0) the default one
  SnapshotDevices devices;
  SnapshotEntries entries;
  SnapshotSegments segments;
  SnapshotBlocks blocks;
  SnapshotAnnotations annotations;

  [[nodiscard]] std::string_view text(StringId id) const { return strings.view(id); }
  // Innermost first; empty for the empty id.
  [[nodiscard]] std::span<const SnapshotFrameId> frames_of(SnapshotStackId stack) const {
    if (!stack.has_value()) return {};
    return std::span(stack_frames).subspan(stacks.frames_begin[stack], stacks.frames_count[stack]);
  }
};

}  // namespace stepscope

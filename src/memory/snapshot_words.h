// Every word that the format of snapshots knows: keys, actions, states, categories.
//
// They are interned first and in this order, so the StringId of a key is its Word and a key costs a switch, no compare.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/string_pool.h"

namespace stepscope::snapshot_reading {

// NOLINTBEGIN(cppcoreguidelines-macro-usage): one list for the enum and the spellings.
#define STEPSCOPE_SNAPSHOT_WORDS(WORD)                \
  WORD(kAction, "action")                             \
  WORD(kAddr, "addr")                                 \
  WORD(kSize, "size")                                 \
  WORD(kStream, "stream")                             \
  WORD(kTimeUs, "time_us")                            \
  WORD(kFrames, "frames")                             \
  WORD(kCompileContext, "compile_context")            \
  WORD(kUserMetadata, "user_metadata")                \
  WORD(kPoolId, "pool_id")                            \
  WORD(kForwardFrames, "forward_frames")              \
  WORD(kCategory, "category")                         \
  WORD(kDeviceFree, "device_free")                    \
  WORD(kName, "name")                                 \
  WORD(kFilename, "filename")                         \
  WORD(kLine, "line")                                 \
  WORD(kDevice, "device")                             \
  WORD(kAddress, "address")                           \
  WORD(kTotalSize, "total_size")                      \
  WORD(kAllocatedSize, "allocated_size")              \
  WORD(kActiveSize, "active_size")                    \
  WORD(kRequestedSize, "requested_size")              \
  WORD(kSegmentType, "segment_type")                  \
  WORD(kSegmentPoolId, "segment_pool_id")             \
  WORD(kIsExpandable, "is_expandable")                \
  WORD(kBlocks, "blocks")                             \
  WORD(kState, "state")                               \
  WORD(kHistory, "history")                           \
  WORD(kRealSize, "real_size")                        \
  WORD(kStage, "stage")                               \
  WORD(kSegments, "segments")                         \
  WORD(kDeviceTraces, "device_traces")                \
  WORD(kAllocatorSettings, "allocator_settings")      \
  WORD(kExternalAnnotations, "external_annotations")  \
  WORD(kHostSegments, "host_segments")                \
  WORD(kHostTraces, "host_traces")                    \
  WORD(kMaxEntries, "trace_alloc_max_entries")        \
  WORD(kOverflowed, "trace_alloc_overflowed")         \
  WORD(kCudaAllocConf, "PYTORCH_CUDA_ALLOC_CONF")     \
  WORD(kAllocConf, "PYTORCH_ALLOC_CONF")              \
  WORD(kHipAllocConf, "PYTORCH_HIP_ALLOC_CONF")       \
  WORD(kMaxSplitSize, "max_split_size")               \
  WORD(kGcThreshold, "garbage_collection_threshold")  \
  WORD(kExpandableSegments, "expandable_segments")    \
  WORD(kRoundupDivisions, "roundup_power2_divisions") \
  WORD(kAlloc, "alloc")                               \
  WORD(kFreeRequested, "free_requested")              \
  WORD(kFreeCompleted, "free_completed")              \
  WORD(kSegmentAlloc, "segment_alloc")                \
  WORD(kSegmentFree, "segment_free")                  \
  WORD(kSegmentMap, "segment_map")                    \
  WORD(kSegmentUnmap, "segment_unmap")                \
  WORD(kOom, "oom")                                   \
  WORD(kSnapshot, "snapshot")                         \
  WORD(kAnnotate, "annotate")                         \
  WORD(kUserDefined, "user_defined")                  \
  WORD(kActiveAllocated, "active_allocated")          \
  WORD(kActivePendingFree, "active_pending_free")     \
  WORD(kActiveAwaitingFree, "active_awaiting_free")   \
  WORD(kInactive, "inactive")                         \
  WORD(kSmall, "small")                               \
  WORD(kLarge, "large")                               \
  WORD(kStart, "START")                               \
  WORD(kEnd, "END")                                   \
  WORD(kNotAvailable, "N/A")                          \
  WORD(kParameter, "parameter")                       \
  WORD(kOptimizerState, "optimizer_state")            \
  WORD(kInput, "input")                               \
  WORD(kTemporary, "temporary")                       \
  WORD(kActivation, "activation")                     \
  WORD(kGradient, "gradient")                         \
  WORD(kAutogradDetail, "autograd_detail")            \
  WORD(kLosses, "stepscope_losses")                   \
  WORD(kKind, "kind")                                 \
  WORD(kCount, "count")                               \
  WORD(kFirstOffset, "first_offset")                  \
  WORD(kExample, "example")

#define STEPSCOPE_WORD_NAME(name, text) name,
#define STEPSCOPE_WORD_TEXT(name, text) std::string_view(text),
enum class Word : std::uint32_t { kEmpty, STEPSCOPE_SNAPSHOT_WORDS(STEPSCOPE_WORD_NAME) kUnknown };
inline constexpr std::string_view kWordTexts[] = {"", STEPSCOPE_SNAPSHOT_WORDS(STEPSCOPE_WORD_TEXT)};  // NOLINT
#undef STEPSCOPE_WORD_NAME
#undef STEPSCOPE_WORD_TEXT
// NOLINTEND(cppcoreguidelines-macro-usage)

// Only on a pool that is still empty.
inline void intern_words(StringPool& strings) {
  for (const std::string_view text : kWordTexts) strings.intern(text);
}
// kUnknown for a text that is no word of the format.
[[nodiscard]] constexpr Word word_of(StringId id) {
  return id.value < static_cast<std::uint32_t>(Word::kUnknown) ? static_cast<Word>(id.value) : Word::kUnknown;
}

}  // namespace stepscope::snapshot_reading

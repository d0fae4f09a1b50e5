// The allocator's state when the history began: its segments then, cut into blocks.
//
// A snapshot holds the state at its end. Walked backwards, each segment taken in the history vanishes and each one
// given back returns; in them lie the blocks that were live before the history, and what lies between is free. The size
// of a block that was live then and freed later is not recorded. It is the rounded request, except where the rest of
// the gap would be too small to split off; in the large pool a gap of more can hide up to 1 MiB, which a replay then
// finds.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "memory/allocator_requests.h"
#include "memory/caching_allocator.h"

namespace stepscope {

struct StartSegment {
  std::uint64_t address = 0;  // of an expandable one the least address known of it, mapped or not
  std::vector<CachingAllocator::StartBlock> blocks;
  std::vector<SlotId> slots;  // by block; empty: no allocation's
  std::uint32_t stream = 0, private_pool = 0;
  bool is_small = false, is_expandable = false;
};

struct StartState {
  std::vector<StartSegment> segments;  // by address
  std::int64_t estimated_count = 0;    // blocks whose size nothing tells: the rounded request, or up to 1 MiB more
};

// Or the sentence that says why the recording contradicts itself.
[[nodiscard]] std::variant<StartState, std::string> build_start_state(const MemorySnapshot& snapshot,
                                                                      SnapshotDeviceId device,
                                                                      const AllocatorConfig& config,
                                                                      const AllocatorRequests& requests);

// Gives the segments to an allocator; sets the blocks of their slots.
void add_start_segments(CachingAllocator& allocator, const std::vector<StartSegment>& segments,
                        Column<SlotId, BlockId>& block_of_slot);

}  // namespace stepscope

// The true sizes of large blocks, by following the layout of segments through the history.
//
// In the large pool an allocator gives out a whole block where the rest would be 1 MiB or less, and counts the whole in
// its statistics. Entries carry the request only, so rounding alone gives peaks that are too low (by 6 MB of 2.9 GB in
// a recorded training loop). But the recorded addresses tell where each allocation went: keeping free and live blocks
// of every segment, split and merged as the allocator does, gives the block that each one took. Nothing is simulated:
// no choice of the allocator is repeated. The blocks that are live at the end check it against the segments.
#pragma once

#include "memory/pairing.h"

namespace stepscope {

struct BlockLayoutResult {
  std::int64_t estimated_count = 0;  // sizes that remain rounded although the block may have been larger
  // Large allocations of the history that are live at the end: their sizes as followed, against the segments'.
  std::int64_t checked_count = 0, matched_count = 0;
};

// Corrects size_bytes of the device's rows. Without effect where every rest is split off (expandable segments).
BlockLayoutResult follow_block_layout(const MemorySnapshot& snapshot, SnapshotDeviceId device, const Pairing& pairing,
                                      const BlockRounding& rounding, Allocations& allocations);

}  // namespace stepscope

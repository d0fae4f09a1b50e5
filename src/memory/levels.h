// The four levels of a device, from its paired allocations and its segment entries.
//
// A level is the sum of what is live, so it equals the live set at every moment and is never negative, whatever the
// recording lost. Reserved is the exception: it has no allocations, and runs backwards from the segments at the end.
#pragma once

#include <vector>

#include "memory/facts.h"

namespace stepscope {

// Sums of sizes that a damaged file made up may pass 2^63: they wrap, without undefined behaviour.
[[nodiscard]] inline std::int64_t add_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

[[nodiscard]] inline std::int64_t subtract_wrapping(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

// The level at each moment of the device: size = its entries + 1.
[[nodiscard]] std::vector<std::int64_t> sum_level(const MemorySnapshot& snapshot, const Allocations& allocations,
                                                  IdRange<AllocationId> rows, SnapshotDeviceId device,
                                                  MemoryLevelKind kind);

// Its start, highest value (first moment of it) and end.
[[nodiscard]] LevelFacts summarize_level(const std::vector<std::int64_t>& level, IdRange<SnapshotEntryId> entries);

}  // namespace stepscope

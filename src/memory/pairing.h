// Pairs what was allocated with what was freed, by address, on one device.
//
// Seen in order, an address is live or not: an alloc opens it, a free_completed closes it. A free at an address that
// the history has not touched, or a block live in the segments at such an address, is an allocation older than the
// history. What contradicts this (an alloc at a live address, a free of what is not live) is counted and taken as the
// recorder having lost an entry: the allocation ends where its address is given out again.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/address_table.h"
#include "memory/block_rounding.h"
#include "memory/facts.h"

namespace stepscope {

struct Pairing {
  AddressTable addresses;
  std::vector<std::uint32_t> slot;             // of each entry of the device; kNoSlot where no allocation moves
  std::vector<std::uint32_t> allocation;       // row of Allocations that each entry is about; kNoSlot if none
  std::vector<std::uint8_t> is_size_recorded;  // of each row of the device: 1 where the segments say it
  IdRange<AllocationId> rows;
  std::int64_t contradiction_count = 0;
};

// Appends the device's allocations to `into`, those older than the history first. Their sizes: the segments' where the
// block is live there, else rounded; block_layout.h knows better.
[[nodiscard]] Pairing pair_allocations(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                       const BlockRounding& rounding, Allocations& into);

}  // namespace stepscope

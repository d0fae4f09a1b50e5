// Expandable segments: address space for the whole device, of which whole pages are mapped and unmapped as needed.
//
//   base                                                                 address space ends
//    | allocated | free | allocated | free | unmapped ............................ |
//    |<------------- mapped, in whole pages ------------->|
//
// A request that no free block serves maps pages at the lowest address with room: unmapped ranges, with the free block
// before them, are tried from the left. A release unmaps the whole pages inside free blocks; holes arise so.
#include <algorithm>

#include "memory/caching_allocator.h"

namespace stepscope {
namespace {

// Address space of one segment. The real one takes 9/8 of the device's memory, whose size a recording does not tell;
// what counts is that it never ends.
constexpr std::int64_t kReservationBytes = 1LL << 52;

}  // namespace

// What a free block can grow to without moving.
std::int64_t CachingAllocator::expandable_bytes(BlockId id) const {
  const Block& block = at(id);
  const bool can_grow = block.next.has_value() && at(block.next).state == State::kUnmapped;
  return block.bytes + (can_grow ? at(block.next).bytes : 0);
}

// The block where a run of free and unmapped blocks with enough room begins: an unmapped one or the free one before it.
BlockId CachingAllocator::find_expandable(const Search& search) {
  const auto is_usable = [&](BlockId id) {
    return id.has_value() && (at(id).state == State::kFree || at(id).state == State::kUnmapped);
  };
  const auto has_room = [&](BlockId id) {
    std::int64_t room = 0;
    for (; room < search.bytes && is_usable(id); id = at(id).next) room += at(id).bytes;
    return room >= search.bytes;
  };
  const UnmappedSet& unmapped = pool(search.pool).unmapped;
  for (auto each = unmapped.lower_bound({search.stream, 0, 0}); each != unmapped.end(); ++each) {
    const auto& [stream, address, number] = *each;
    if (stream != search.stream) break;
    BlockId id(number);
    if (is_usable(at(id).previous)) id = at(id).previous;
    if (has_room(id)) return id;
  }
  const std::uint64_t base = addresses_->place_reservation(kReservationBytes);
  const std::int64_t page = page_bytes_for(config_, pool(search.pool).is_small);
  const BlockId id = new_block(base, kReservationBytes / page * page, search.stream, search.pool);
  at(id).is_expandable = true;
  at(id).base = base;
  insert_unmapped(id);
  return id;
}

BlockId CachingAllocator::take_expandable(const Search& search) {
  BlockId id = find_expandable(search);
  if (at(id).state == State::kUnmapped && !map(id, std::min(at(id).bytes, search.bytes))) return {};
  while (at(id).bytes < search.bytes) {
    const BlockId next = at(id).next;  // unmapped, by the choice of find_expandable
    if (!map(next, std::min(at(next).bytes, search.bytes - at(id).bytes))) return {};
    id = next;
  }
  remove_free(id);
  return id;
}

// Maps whole pages from the start of an unmapped block, which then is a free one, joined with its free neighbours.
bool CachingAllocator::map(BlockId id, std::int64_t bytes) {
  const std::int64_t page = page_bytes_for(config_, pool(at(id).pool).is_small);
  const std::uint64_t place = at(id).address;
  const std::int64_t mapped = std::min((bytes + page - 1) / page * page, at(id).bytes);
  if (levels_.reserved_bytes + mapped > limits_.device_bytes) return false;
  remove_unmapped(id);
  at(id).state = State::kFree;
  if (mapped < at(id).bytes) {
    const BlockId rest =
        new_block(place + static_cast<std::uint64_t>(mapped), at(id).bytes - mapped, at(id).stream, at(id).pool);
    at(rest).is_expandable = true;
    at(rest).base = at(id).base;
    link(rest, at(id).next);
    link(id, rest);
    at(id).bytes = mapped;
    insert_unmapped(rest);
  }
  merge_with_neighbours(id);
  insert_free(id);
  ++levels_.device_allocation_count;
  add_reserved(mapped);
  record(AllocatorAction::kSegmentMap, place, mapped, at(id).stream, at(id).pool);
  return true;
}

// The whole pages inside a block; 0 bytes where there are none.
CachingAllocator::Range CachingAllocator::whole_pages(const Block& block) const {
  const auto page = static_cast<std::uint64_t>(page_bytes_for(config_, block.pool % 2 == 0));
  const std::uint64_t from = block.address - block.base;
  const std::uint64_t first = (from + page - 1) / page * page;
  const std::uint64_t end = (from + static_cast<std::uint64_t>(block.bytes)) / page * page;
  if (first >= end) return {block.address, 0};
  return {block.base + first, static_cast<std::int64_t>(end - first)};
}

// What lies before and after the pages stays free.
void CachingAllocator::unmap(BlockId id) {
  const auto [place, bytes] = whole_pages(at(id));
  if (bytes == 0) return;
  remove_free(id);
  const auto split_off = [&](std::uint64_t address, std::int64_t size) {
    const BlockId part = new_block(address, size, at(id).stream, at(id).pool);
    at(part).is_expandable = true;
    at(part).base = at(id).base;
    return part;
  };
  const auto before = static_cast<std::int64_t>(place - at(id).address);
  const std::int64_t after = at(id).bytes - before - bytes;
  if (before > 0) {
    const BlockId part = split_off(at(id).address, before);
    link(at(id).previous, part);
    link(part, id);
    insert_free(part);
  }
  if (after > 0) {
    const BlockId part = split_off(place + static_cast<std::uint64_t>(bytes), after);
    link(part, at(id).next);
    link(id, part);
    insert_free(part);
  }
  at(id).address = place;
  at(id).bytes = bytes;
  at(id).state = State::kUnmapped;
  merge_with_neighbours(id);
  insert_unmapped(id);
  levels_.reserved_bytes -= bytes;
  record(AllocatorAction::kSegmentUnmap, place, bytes, at(id).stream, at(id).pool);
  if (is_whole_segment(at(id))) {  // nothing is mapped any more: the address space goes too
    remove_unmapped(id);
    drop_block(id);
  }
}

bool CachingAllocator::map_this(const Range& range) {
  for (std::size_t i = 0; i < pools_.size() * 2; ++i) {
    for (const auto& [stream, address, number] : pool(static_cast<std::uint32_t>(i)).unmapped) {
      if (address != range.first || at(BlockId(number)).bytes < range.second) continue;
      return map(BlockId(number), range.second);
    }
  }
  return false;
}

}  // namespace stepscope

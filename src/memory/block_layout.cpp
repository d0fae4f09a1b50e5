// Live and free blocks of each large segment as a doubly linked list by address; free blocks are found by the slot of
// their start. All steps are O(1) but the start, which sorts segments.
#include "memory/block_layout.h"

#include <algorithm>
#include <optional>

namespace stepscope {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

struct Segment {
  std::uint64_t address = 0;
  std::int64_t size_bytes = 0;
};

// Does the allocator split off every rest? Then rounding is exact. A file may lack the setting but show its use.
bool splits_every_rest(const MemorySnapshot& snapshot, SnapshotDeviceId device) {
  if (snapshot.settings.expandable_segments.value_or(false)) return true;
  for (const SnapshotSegmentId segment : snapshot.devices.segments[device].ids()) {
    if (snapshot.segments.is_expandable[segment] != 0) return true;
  }
  for (const SnapshotEntryId entry : snapshot.devices.entries[device].ids()) {
    if (snapshot.entries.action[entry] == AllocatorAction::kSegmentMap) return true;
  }
  return false;
}

// Large segments that were held when the history began: freed in it unseen, or held at the end and not new. By address.
std::vector<Segment> find_older_segments(const MemorySnapshot& snapshot, SnapshotDeviceId device) {
  AddressTable seen;
  std::vector<Segment> older;
  for (const SnapshotEntryId entry : snapshot.devices.entries[device].ids()) {
    const AllocatorAction action = snapshot.entries.action[entry];
    if (action != AllocatorAction::kSegmentAlloc && action != AllocatorAction::kSegmentFree) continue;
    if (snapshot.entries.size_bytes[entry] <= kSmallSegmentBytes) continue;
    const std::size_t known = seen.size();
    const bool is_first = seen.intern(snapshot.entries.address[entry]) == known;
    if (is_first && action == AllocatorAction::kSegmentFree) {
      older.push_back({snapshot.entries.address[entry], snapshot.entries.size_bytes[entry]});
    }
  }
  for (const SnapshotSegmentId segment : snapshot.devices.segments[device].ids()) {
    if (snapshot.segments.total_bytes[segment] <= kSmallSegmentBytes) continue;
    const std::uint64_t address = snapshot.segments.address[segment];
    if (seen.find(address) == kNoSlot) older.push_back({address, snapshot.segments.total_bytes[segment]});
  }
  std::sort(older.begin(), older.end(), [](const Segment& a, const Segment& b) { return a.address < b.address; });
  return older;
}

class BlockLayout {
 public:
  BlockLayout(const MemorySnapshot& snapshot, SnapshotDeviceId device, const Pairing& pairing,
              const BlockRounding& rounding, Allocations& allocations)
      : snapshot_(snapshot),
        device_(device),
        range_(snapshot.devices.entries[device]),
        pairing_(pairing),
        rounding_(rounding),
        allocations_(allocations),
        addresses_(pairing.addresses),
        free_block_(addresses_.size(), kNone),
        block_of_row_(pairing.rows.size(), kNone) {}

  BlockLayoutResult run() {
    for (const Segment& segment : find_older_segments(snapshot_, device_)) fill(segment);
    for (const SnapshotEntryId entry : range_.ids()) {
      switch (snapshot_.entries.action[entry]) {
        case AllocatorAction::kAlloc:
          allocate(entry);
          break;
        case AllocatorAction::kFreeCompleted:
          release(entry);
          break;
        case AllocatorAction::kSegmentAlloc:
          if (size_of(entry) > kSmallSegmentBytes) add_free(snapshot_.entries.address[entry], size_of(entry), kNone);
          break;
        case AllocatorAction::kSegmentFree:
          remove_segment(entry);
          break;
        default:
          break;
      }
    }
    estimate_open_gaps();
    return result_;
  }

 private:
  struct Block {
    std::uint64_t address = 0;
    std::int64_t size_bytes = 0;
    std::uint32_t previous = kNone, next = kNone;  // neighbours in the segment
    std::uint32_t row = kNone;                     // of Allocations; kNone: free
    bool is_of_start = false;                      // a free block as the history found it
    std::uint32_t gap = kNone;                     // of a free block: the gap that it fills
  };
  // Behind a block older than the history lies more than 1 MiB that is free: up to 1 MiB of it may be the block's.
  struct Gap {
    std::uint64_t address = 0;      // where the block would end by rounding
    std::uint32_t row = 0;          // kNone: settled
    std::uint32_t later_count = 0;  // later allocations at its place and of its request,
    std::int64_t later_bytes = 0;   // and the block that each of them got; 0: not all the same
  };

  [[nodiscard]] std::int64_t size_of(SnapshotEntryId entry) const { return snapshot_.entries.size_bytes[entry]; }
  [[nodiscard]] std::uint32_t& block_of(std::uint32_t row) { return block_of_row_[row - pairing_.rows.begin]; }
  [[nodiscard]] bool is_recorded(AllocationId row) const {
    return pairing_.is_size_recorded[row.value - pairing_.rows.begin] != 0;
  }

  std::uint32_t slot_of(std::uint64_t address) {
    const std::uint32_t slot = addresses_.intern(address);
    if (slot >= free_block_.size()) free_block_.resize(slot + 1, kNone);
    return slot;
  }
  [[nodiscard]] std::uint32_t& free_at(std::uint64_t address) { return free_block_[slot_of(address)]; }

  std::uint32_t add(const Block& block) {
    if (unused_.empty()) {
      blocks_.push_back(block);
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t at = unused_.back();
    unused_.pop_back();
    blocks_[at] = block;
    return at;
  }
  // Appends behind `previous` (the last of its segment, or none).
  std::uint32_t append(std::uint64_t address, std::int64_t size_bytes, std::uint32_t previous, std::uint32_t row) {
    const std::uint32_t added = add({address, size_bytes, previous, kNone, row, false, kNone});
    if (previous != kNone) blocks_[previous].next = added;
    return added;
  }
  std::uint32_t add_free(std::uint64_t address, std::int64_t size_bytes, std::uint32_t previous) {
    const std::uint32_t added = append(address, size_bytes, previous, kNone);
    free_at(address) = added;
    return added;
  }

  // The blocks of a segment as they were when the history began.
  void fill(const Segment& segment) {
    const auto end = segment.address + static_cast<std::uint64_t>(segment.size_bytes);
    std::uint64_t at = segment.address;
    std::uint32_t previous = kNone;
    std::uint32_t row = first_older_from(segment.address);
    for (; row < pairing_.rows.end && is_older(row) && allocations_.address[AllocationId(row)] < end; ++row) {
      const AllocationId id(row);
      const std::uint64_t address = allocations_.address[id];
      if (address < at) continue;  // overlaps the one before: the recording contradicts itself
      if (address > at) previous = add_gap(at, static_cast<std::int64_t>(address - at), previous);
      const std::uint64_t next = row + 1 < pairing_.rows.end && is_older(row + 1)
                                     ? std::clamp(allocations_.address[AllocationId(row + 1)], address, end)
                                     : end;
      settle_older(id, static_cast<std::int64_t>(next - address));
      previous = append(address, allocations_.size_bytes[id], previous, row);
      block_of(row) = previous;
      at = address + static_cast<std::uint64_t>(allocations_.size_bytes[id]);
    }
    if (at < end) add_gap(at, static_cast<std::int64_t>(end - at), previous);
  }
  // A free block that may be the gap just noted.
  std::uint32_t add_gap(std::uint64_t address, std::int64_t size_bytes, std::uint32_t previous) {
    const std::uint32_t added = add_free(address, size_bytes, previous);
    blocks_[added].is_of_start = true;
    if (!gaps_.empty() && gaps_.back().address == address) {
      blocks_[added].gap = static_cast<std::uint32_t>(gaps_.size() - 1);
    }
    return added;
  }

  // `room`: from the block's start to the next live block or the end of the segment.
  void settle_older(AllocationId row, std::int64_t room) {
    std::int64_t& size = allocations_.size_bytes[row];
    const bool is_recorded_size = is_recorded(row);
    if (size > room) size = room;
    if (is_recorded_size) return;
    if (!rounding_.is_split_off(size, room - size)) {
      size = room;
    } else {
      const std::uint32_t slot = addresses_.find(allocations_.address[row]);
      if (gap_at_.empty()) gap_at_.assign(pairing_.addresses.size(), kNone);
      gap_at_[slot] = static_cast<std::uint32_t>(gaps_.size());
      gaps_.push_back({allocations_.address[row] + static_cast<std::uint64_t>(size), row.value, 0, 0});
    }
  }

  [[nodiscard]] bool is_older(std::uint32_t row) const {
    return !allocations_.alloc_entry[AllocationId(row)].has_value();
  }
  [[nodiscard]] std::uint32_t first_older_from(std::uint64_t address) const {
    std::uint32_t low = pairing_.rows.begin;
    std::uint32_t high = pairing_.rows.end;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      const bool is_before = is_older(middle) && allocations_.address[AllocationId(middle)] < address;
      if (is_before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  void allocate(SnapshotEntryId entry) {
    const std::size_t local = entry.value - range_.begin;
    const std::uint32_t row = pairing_.allocation[local];
    if (row == kNoSlot) return;
    const AllocationId id(row);
    const std::int64_t rounded = rounding_.round(size_of(entry));
    if (rounded <= kSmallRequestBytes) return;  // the small pool splits off every rest
    const std::uint32_t slot = pairing_.slot[local];
    if (free_block_[slot] == kNone) shift_gap(allocations_.address[id]);
    const std::uint32_t at = free_block_[slot];
    if (at == kNone || blocks_[at].size_bytes < rounded) {
      if (!is_recorded(id)) ++result_.estimated_count;
      return;
    }
    free_block_[slot] = kNone;
    if (blocks_[at].gap != kNone) gaps_[blocks_[at].gap].row = kNone;  // begins where rounding says: so it was right
    blocks_[at].gap = kNone;
    const std::int64_t rest = blocks_[at].size_bytes - rounded;
    if (rounding_.is_split_off(rounded, rest) || is_doubtful_rest(at, rest, id)) split(at, rounded);
    blocks_[at].row = row;
    block_of(row) = at;
    take_size(id, blocks_[at].size_bytes);
    if (!gap_at_.empty() && gap_at_[slot] != kNone) note_later_block(gaps_[gap_at_[slot]], id, blocks_[at].size_bytes);
  }

  // Exactly 1 MiB over, in a free piece of the inferred start: an allocator that splits at 1 MiB instead of over it
  // would have split. Any large block of the end that is larger than its rounded request shows PyTorch's rule; without
  // one the smaller size is given, as an estimate.
  bool is_doubtful_rest(std::uint32_t at, std::int64_t rest, AllocationId row) {
    if (rest != kSmallRequestBytes || !blocks_[at].is_of_start || has_witness()) return false;
    if (!is_recorded(row)) ++result_.estimated_count;
    return true;
  }
  bool has_witness() {
    if (has_witness_.has_value()) return *has_witness_;
    has_witness_ = false;
    for (const AllocationId row : pairing_.rows.ids()) {
      const std::int64_t rounded = rounding_.round(allocations_.requested_bytes[row]);
      const bool is_large = rounded > kSmallRequestBytes;
      if (is_large && is_recorded(row) && allocations_.size_bytes[row] > rounded) has_witness_ = true;
    }
    return *has_witness_;
  }

  void take_size(AllocationId row, std::int64_t size_bytes) {
    if (is_recorded(row)) {
      ++result_.checked_count;
      result_.matched_count += allocations_.size_bytes[row] == size_bytes ? 1 : 0;
    } else {
      allocations_.size_bytes[row] = size_bytes;
    }
  }

  void split(std::uint32_t at, std::int64_t size_bytes) {
    const std::uint64_t address = blocks_[at].address + static_cast<std::uint64_t>(size_bytes);
    const std::uint32_t next = blocks_[at].next;
    const std::uint32_t rest = add_free(address, blocks_[at].size_bytes - size_bytes, at);
    blocks_[rest].next = next;
    if (next != kNone) blocks_[next].previous = rest;
    blocks_[at].size_bytes = size_bytes;
  }

  void release(SnapshotEntryId entry) {
    const std::uint32_t row = pairing_.allocation[entry.value - range_.begin];
    if (row == kNoSlot || block_of(row) == kNone) return;
    std::uint32_t at = block_of(row);
    block_of(row) = kNone;
    blocks_[at].row = kNone;
    if (is_free(blocks_[at].next)) absorb_next(at);
    if (const std::uint32_t previous = blocks_[at].previous; is_free(previous)) {
      absorb_next(previous);
      at = previous;
    }
    free_at(blocks_[at].address) = at;
  }
  [[nodiscard]] bool is_free(std::uint32_t block) const { return block != kNone && blocks_[block].row == kNone; }
  void absorb_next(std::uint32_t at) {
    const std::uint32_t next = blocks_[at].next;
    if (std::uint32_t& known = free_at(blocks_[next].address); known == next) known = kNone;
    blocks_[at].size_bytes += blocks_[next].size_bytes;
    blocks_[at].is_of_start = false;
    blocks_[at].next = blocks_[next].next;
    if (blocks_[at].next != kNone) blocks_[blocks_[at].next].previous = at;
    unused_.push_back(next);
  }

  // Only a segment that is free as a whole is given back; anything else is a contradiction, and left alone.
  void remove_segment(SnapshotEntryId entry) {
    if (size_of(entry) <= kSmallSegmentBytes) return;
    std::uint32_t& found = free_at(snapshot_.entries.address[entry]);
    if (found == kNone) return;
    const Block& block = blocks_[found];
    if (block.size_bytes != size_of(entry) || block.previous != kNone || block.next != kNone) return;
    unused_.push_back(found);
    found = kNone;
  }

  // An allocation begins inside a free gap behind an older block, not at its start: what lies between is the block's.
  void shift_gap(std::uint64_t address) {
    auto after = std::upper_bound(gaps_.begin(), gaps_.end(), address,
                                  [](std::uint64_t wanted, const Gap& gap) { return wanted < gap.address; });
    if (after == gaps_.begin()) return;
    Gap& gap = *std::prev(after);
    const auto shift = static_cast<std::int64_t>(address - gap.address);
    if (gap.row == kNone || shift == 0 || shift > kSmallRequestBytes || block_of(gap.row) == kNone) return;
    Block& block = blocks_[block_of(gap.row)];
    const std::uint32_t free = block.next;
    if (!is_free(free) || blocks_[free].address != gap.address || blocks_[free].size_bytes <= shift) return;
    free_at(blocks_[free].address) = kNone;
    block.size_bytes += shift;
    blocks_[free].address += static_cast<std::uint64_t>(shift);
    blocks_[free].size_bytes -= shift;
    allocations_.size_bytes[AllocationId(gap.row)] = block.size_bytes;
    blocks_[free].gap = kNone;
    free_at(address) = free;
    gap.row = kNone;
  }
  void note_later_block(Gap& gap, AllocationId later, std::int64_t size_bytes) {
    if (gap.row == kNone) return;
    if (allocations_.requested_bytes[AllocationId(gap.row)] != allocations_.requested_bytes[later]) return;
    if (gap.later_count++ == 0) gap.later_bytes = size_bytes;
    if (gap.later_bytes != size_bytes) gap.later_bytes = 0;
  }
  // Nothing tells where these ended. But steps repeat: where the same request at the same place got the same block
  // twice or more, this one most likely had it too (of 140 made histories, 2 started wrong, 4 by rounding). Still an
  // estimate.
  void estimate_open_gaps() {
    for (const Gap& gap : gaps_) {
      if (gap.row == kNone) continue;
      ++result_.estimated_count;
      if (gap.later_count > 1 && gap.later_bytes != 0) allocations_.size_bytes[AllocationId(gap.row)] = gap.later_bytes;
    }
  }

  const MemorySnapshot& snapshot_;
  const SnapshotDeviceId device_;
  const IdRange<SnapshotEntryId> range_;
  const Pairing& pairing_;
  const BlockRounding& rounding_;
  Allocations& allocations_;
  AddressTable addresses_;                 // those of the pairing, and where free blocks begin
  std::vector<std::uint32_t> free_block_;  // by slot: the free block that starts there
  std::vector<std::uint32_t> block_of_row_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> unused_;
  std::vector<Gap> gaps_;              // by address
  std::vector<std::uint32_t> gap_at_;  // by slot of the pairing: the gap behind the older block there
  std::optional<bool> has_witness_;
  BlockLayoutResult result_;
};

}  // namespace

BlockLayoutResult follow_block_layout(const MemorySnapshot& snapshot, SnapshotDeviceId device, const Pairing& pairing,
                                      const BlockRounding& rounding, Allocations& allocations) {
  if (splits_every_rest(snapshot, device)) return {};
  return BlockLayout(snapshot, device, pairing, rounding, allocations).run();
}

}  // namespace stepscope

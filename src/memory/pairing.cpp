// Two passes: the first gives every address a slot and finds what is older than the history (its rows come first), the
// second pairs. Then the segments say which blocks are live at the end and how large they really are.
#include "memory/pairing.h"

#include <algorithm>

namespace stepscope {
namespace {

bool moves_allocation(AllocatorAction action) {
  return action == AllocatorAction::kAlloc || action == AllocatorAction::kFreeRequested ||
         action == AllocatorAction::kFreeCompleted;
}

struct OlderAllocation {
  std::uint64_t address = 0;
  SnapshotEntryId free_entry;  // first entry about it, else it is live at the end:
  SnapshotSegmentId segment;
  SnapshotBlockId block;
};

class DevicePairing {
 public:
  DevicePairing(const MemorySnapshot& snapshot, SnapshotDeviceId device, const BlockRounding& rounding,
                Allocations& into)
      : snapshot_(snapshot),
        entries_(snapshot.entries),
        range_(snapshot.devices.entries[device]),
        segments_(snapshot.devices.segments[device]),
        rounding_(rounding),
        into_(into) {}

  Pairing run() {
    out_.rows.begin = static_cast<std::uint32_t>(into_.size());
    number_addresses();
    find_older_in_segments();
    add_older();
    for (const SnapshotEntryId entry : range_.ids()) pair(entry);
    out_.rows.end = static_cast<std::uint32_t>(into_.size());
    take_sizes_from_segments();
    return std::move(out_);
  }

 private:
  void number_addresses() {
    out_.slot.assign(range_.size(), kNoSlot);
    out_.allocation.assign(range_.size(), kNoSlot);
    for (const SnapshotEntryId entry : range_.ids()) {
      const AllocatorAction action = entries_.action[entry];
      if (!moves_allocation(action)) continue;
      alloc_count_ += action == AllocatorAction::kAlloc ? 1 : 0;
      has_free_requests_ |= action == AllocatorAction::kFreeRequested;
      const std::size_t known = out_.addresses.size();
      const std::uint32_t slot = out_.addresses.intern(entries_.address[entry]);
      out_.slot[local(entry)] = slot;
      const bool is_first = slot == known;
      if (is_first && action != AllocatorAction::kAlloc) older_.push_back({entries_.address[entry], entry, {}, {}});
    }
  }

  void find_older_in_segments() {
    for_each_active_block([&](SnapshotSegmentId segment, SnapshotBlockId block) {
      const std::uint64_t address = snapshot_.blocks.address[block];
      const std::size_t known = out_.addresses.size();
      // New to the table: nothing was seen at this address, and no other block of the segments lies there.
      if (out_.addresses.intern(address) == known) older_.push_back({address, {}, segment, block});
    });
  }

  void add_older() {
    std::sort(older_.begin(), older_.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    open_.assign(out_.addresses.size(), kNoSlot);
    const std::size_t row_count = into_.size() + older_.size() + alloc_count_;
    into_.for_each_column([&](std::string_view, std::string_view, auto& column) {
      // Exactly what is needed for the first device, often the only one; then by steps, or each of many devices would
      // copy the rows of all before it (200,000 devices of two entries: over 120 s, now 0.4 s).
      const std::size_t capacity = column.raw().capacity();
      if (row_count > capacity) column.raw().reserve(std::max(row_count, capacity + capacity / 2));
    });
    for (const OlderAllocation& older : older_) {
      Allocations::Row row;
      row.category = MemoryCategory::kUnknown;
      row.address = older.address;
      if (older.free_entry.has_value()) {
        row.requested_bytes = entries_.size_bytes[older.free_entry];
        row.stream = entries_.stream[older.free_entry];
        row.pool = entries_.pool[older.free_entry];
        // Without any request in the history the recorder writes none, and a free is one entry.
        row.is_free_pending_at_start =
            has_free_requests_ && entries_.action[older.free_entry] == AllocatorAction::kFreeCompleted;
        row.size_bytes = rounding_.round(row.requested_bytes);
      } else {
        const SnapshotBlocks& blocks = snapshot_.blocks;
        row.size_bytes = blocks.size_bytes[older.block];
        row.requested_bytes = blocks.requested_bytes[older.block].value_or(row.size_bytes);
        row.stream = snapshot_.segments.stream[older.segment];
        row.pool = snapshot_.segments.pool[older.segment];
        row.stack = blocks.stack[older.block];
        row.is_free_pending_at_start = blocks.state[older.block] == BlockState::kActivePendingFree;
        row.is_sum = blocks.is_sum[older.block];
      }
      open_[out_.addresses.find(older.address)] = into_.push_back(row).value;
    }
    older_ = {};
  }

  void pair(SnapshotEntryId entry) {
    const std::uint32_t slot = out_.slot[local(entry)];
    if (slot == kNoSlot) return;
    const AllocatorAction action = entries_.action[entry];
    if (action == AllocatorAction::kAlloc) {
      if (open_[slot] != kNoSlot) {
        ++out_.contradiction_count;
        close(AllocationId(open_[slot]), entry);
      }
      open_[slot] = add(entry).value;
      out_.allocation[local(entry)] = open_[slot];
      return;
    }
    if (open_[slot] == kNoSlot) {
      ++out_.contradiction_count;
      return;
    }
    const AllocationId row(open_[slot]);
    out_.allocation[local(entry)] = row.value;
    if (action == AllocatorAction::kFreeRequested) {
      if (into_.free_requested_entry[row].has_value()) {
        ++out_.contradiction_count;
      } else {
        into_.free_requested_entry[row] = entry;
      }
      return;
    }
    into_.free_completed_entry[row] = entry;
    open_[slot] = kNoSlot;
  }

  AllocationId add(SnapshotEntryId entry) {
    Allocations::Row row;
    row.category = MemoryCategory::kUnknown;
    row.address = entries_.address[entry];
    row.requested_bytes = entries_.size_bytes[entry];
    row.size_bytes = rounding_.round(row.requested_bytes);
    row.alloc_entry = entry;
    row.stack = entries_.stack[entry];
    row.stream = entries_.stream[entry];
    row.pool = entries_.pool[entry];
    return into_.push_back(row);
  }

  void close(AllocationId row, SnapshotEntryId entry) {
    if (!into_.free_requested_entry[row].has_value()) into_.free_requested_entry[row] = entry;
    into_.free_completed_entry[row] = entry;
  }

  void take_sizes_from_segments() {
    out_.is_size_recorded.assign(out_.rows.size(), 0);
    std::size_t found = 0;
    for_each_active_block([&](SnapshotSegmentId segment, SnapshotBlockId block) {
      const std::uint32_t slot = out_.addresses.find(snapshot_.blocks.address[block]);
      if (slot == kNoSlot || open_[slot] == kNoSlot) {
        ++out_.contradiction_count;  // freed, says the history
        return;
      }
      ++found;
      const AllocationId row(open_[slot]);
      into_.size_bytes[row] = snapshot_.blocks.size_bytes[block];
      if (!into_.pool[row].has_value()) into_.pool[row] = snapshot_.segments.pool[segment];
      if (!into_.stack[row].has_value()) into_.stack[row] = snapshot_.blocks.stack[block];
      out_.is_size_recorded[row.value - out_.rows.begin] = 1;
    });
    if (segments_.empty()) return;  // a snapshot of traces alone says nothing about the end
    const auto live = static_cast<std::size_t>(
        std::count_if(open_.begin(), open_.end(), [](std::uint32_t row) { return row != kNoSlot; }));
    out_.contradiction_count += static_cast<std::int64_t>(live > found ? live - found : 0);
  }

  template <class Visit>
  void for_each_active_block(Visit&& visit) const {
    for (const SnapshotSegmentId segment : segments_.ids()) {
      for (const SnapshotBlockId block : snapshot_.segments.blocks[segment].ids()) {
        if (snapshot_.blocks.state[block] != BlockState::kInactive) visit(segment, block);
      }
    }
  }

  [[nodiscard]] std::size_t local(SnapshotEntryId entry) const { return entry.value - range_.begin; }

  const MemorySnapshot& snapshot_;
  const SnapshotEntries& entries_;
  const IdRange<SnapshotEntryId> range_;
  const IdRange<SnapshotSegmentId> segments_;
  const BlockRounding& rounding_;
  Allocations& into_;
  Pairing out_;
  bool has_free_requests_ = false;
  std::size_t alloc_count_ = 0;
  std::vector<OlderAllocation> older_;
  std::vector<std::uint32_t> open_;  // by slot: the live row
};

}  // namespace

Pairing pair_allocations(const MemorySnapshot& snapshot, SnapshotDeviceId device, const BlockRounding& rounding,
                         Allocations& into) {
  return DevicePairing(snapshot, device, rounding, into).run();
}

}  // namespace stepscope

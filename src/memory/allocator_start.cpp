// Plain segments come and go as wholes; expandable ones as ranges, so their backward walk is arithmetic on intervals.
#include "memory/allocator_start.h"

#include <algorithm>
#include <map>

namespace stepscope {
namespace {

using StartBlock = CachingAllocator::StartBlock;

// Whose memory it is: blocks of one class may join.
struct RangeClass {
  std::uint32_t stream = 0, private_pool = 0;
  bool is_small = false;
  auto operator<=>(const RangeClass&) const = default;
};

struct RangeEnd {
  std::uint64_t end = 0;
  RangeClass of;
};
using Ranges = std::map<std::uint64_t, RangeEnd>;  // by start, without overlaps

// The range that holds the address, or ends().
Ranges::iterator find_range(Ranges& ranges, std::uint64_t address) {
  auto found = ranges.upper_bound(address);
  if (found == ranges.begin()) return ranges.end();
  --found;
  return address < found->second.end ? found : ranges.end();
}

class StartBuilder {
 public:
  StartBuilder(const MemorySnapshot& snapshot, SnapshotDeviceId device, const AllocatorConfig& config,
               const AllocatorRequests& requests)
      : snapshot_(snapshot),
        entries_(snapshot.entries),
        range_(snapshot.devices.entries[device]),
        segments_(snapshot.devices.segments[device]),
        config_(config),
        requests_(requests) {}

  std::variant<StartState, std::string> build() {
    take_end();
    find_evident_sizes();
    note_classes_of_maps();
    walk_back();
    if (!failure_.empty()) return failure_;
    lay_out_plain();
    lay_out_expandable();
    check_slots_and_sizes();
    if (!failure_.empty()) return failure_;
    std::sort(result_.begin(), result_.end(),
              [](const StartSegment& a, const StartSegment& b) { return a.address < b.address; });
    return StartState{std::move(result_), estimated_count_};
  }

 private:
  [[nodiscard]] std::string entry_name(SnapshotEntryId entry) const {
    return "entry #" + std::to_string(entry.value - range_.begin);
  }
  void fail(std::string sentence) {
    if (failure_.empty()) failure_ = std::move(sentence);
  }
  [[nodiscard]] std::uint64_t end_of(SnapshotEntryId entry) const {
    return entries_.address[entry] + static_cast<std::uint64_t>(entries_.size_bytes[entry]);
  }

  void take_end() {
    const SnapshotSegments& table = snapshot_.segments;
    for (const SnapshotSegmentId segment : segments_.ids()) {
      const std::uint64_t start = table.address[segment];
      const std::uint64_t end = start + static_cast<std::uint64_t>(table.total_bytes[segment]);
      const RangeClass of{requests_.stream_number(table.stream[segment]), requests_.pool_number(table.pool[segment]),
                          table.is_small[segment] != 0};
      if (end <= start) return fail("a segment has no size or passes the end of the address space");
      if (table.is_expandable[segment] == 0) {
        plain_[start] = {end, of};
      } else {
        mapped_[start] = {end, of};
        note_class(start, end, of);
      }
    }
  }

  // What is known of expandable address space, whenever it was mapped.
  void note_class(std::uint64_t start, std::uint64_t end, const RangeClass& of) {
    RangeEnd& known = known_[start];
    known.end = std::max(known.end, end);
    known.of = of;
    const auto [place, is_new] = least_.try_emplace(of, start);
    if (!is_new) place->second = std::min(place->second, start);
  }

  // A mapping serves the next request of its stream, whose size says which pool it is.
  void note_classes_of_maps() {
    std::vector<std::size_t> waiting;
    for (std::size_t i = 0; i < range_.size(); ++i) {
      const SnapshotEntryId entry(range_.begin + i);
      const AllocatorAction action = entries_.action[entry];
      if (action == AllocatorAction::kSegmentMap) waiting.push_back(i);
      if (action != AllocatorAction::kAlloc && action != AllocatorAction::kOom) continue;
      const bool is_small = is_small_block(round_request(config_, entries_.size_bytes[entry]));
      for (const std::size_t map : waiting) note_map(map, is_small);
      waiting.clear();
    }
    const auto is_small_page = [&](std::size_t map) {
      return entries_.size_bytes[SnapshotEntryId(range_.begin + map)] % page_bytes_for(config_, false) != 0;
    };
    for (const std::size_t map : waiting) note_map(map, is_small_page(map));
  }

  void note_map(std::size_t i, bool is_small) {
    const SnapshotEntryId entry(range_.begin + i);
    if (end_of(entry) <= entries_.address[entry]) return;
    note_class(entries_.address[entry], end_of(entry),
               {requests_.stream_of_entry[i], requests_.pool_of_entry[i], is_small});
  }

  // The class of pages given back: of the known range they lie in, or else by their size.
  [[nodiscard]] RangeClass class_of_unmap(std::size_t i) {
    const SnapshotEntryId entry(range_.begin + i);
    if (const auto known = find_range(known_, entries_.address[entry]); known != known_.end()) return known->second.of;
    return {requests_.stream_of_entry[i], requests_.pool_of_entry[i],
            entries_.size_bytes[entry] % page_bytes_for(config_, false) != 0};
  }

  // Blocks are cut from the left of a free one. So the first that is allocated between an older block and the next one,
  // while that older block lives, begins where the older one ends.
  void find_evident_sizes() {
    evident_bytes_.resize(requests_.older_count);
    std::vector<bool> is_settled(requests_.older_count);
    std::size_t open_count = requests_.older_count;
    const auto settle = [&](std::size_t older) {
      if (!is_settled[older]) --open_count;
      is_settled[older] = true;
    };
    const auto& slots = requests_.slots.raw();
    const auto older_end = slots.begin() + static_cast<std::ptrdiff_t>(requests_.older_count);
    for (std::size_t i = 0; i < range_.size() && open_count > 0; ++i) {
      const SnapshotEntryId entry(range_.begin + i);
      const SlotId slot = requests_.slot_of_entry[i];
      if (entries_.action[entry] == AllocatorAction::kFreeCompleted && slot.value < requests_.older_count) {
        settle(slot.value);
      }
      if (entries_.action[entry] != AllocatorAction::kAlloc) continue;
      const std::uint64_t address = entries_.address[entry];
      const auto right =
          std::upper_bound(slots.begin(), older_end, address,
                           [](std::uint64_t value, const AllocatorSlot& each) { return value < each.address; });
      if (right == slots.begin()) continue;
      const auto older = static_cast<std::size_t>(right - slots.begin()) - 1;
      if (is_settled[older]) continue;
      const std::uint64_t size = address - slots[older].address;
      const auto least = static_cast<std::uint64_t>(round_request(config_, slots[older].bytes));
      if (size >= least && size <= least + static_cast<std::uint64_t>(kSmallRequestBytes)) {
        evident_bytes_[older] = static_cast<std::int64_t>(size);
      }
      settle(older);
    }
  }

  void walk_back() {
    for (std::size_t i = range_.size(); i-- > 0 && failure_.empty();) {
      const SnapshotEntryId entry(range_.begin + i);
      const std::uint64_t start = entries_.address[entry];
      switch (entries_.action[entry]) {
        case AllocatorAction::kSegmentAlloc: {
          const auto found = plain_.find(start);
          if (found == plain_.end() || found->second.end != end_of(entry)) {
            return fail(entry_name(entry) + " takes a segment that is neither given back nor there at the end");
          }
          plain_.erase(found);
          break;
        }
        case AllocatorAction::kSegmentFree:
          if (end_of(entry) <= start) return fail(entry_name(entry) + " gives back a segment of no size");
          plain_[start] = {end_of(entry),
                           {requests_.stream_of_entry[i], requests_.pool_of_entry[i],
                            entries_.size_bytes[entry] == kSmallSegmentBytes}};
          break;
        case AllocatorAction::kSegmentMap:
          if (!remove_mapped(start, end_of(entry)))
            fail(entry_name(entry) + " maps pages that are not there afterwards");
          break;
        case AllocatorAction::kSegmentUnmap: {
          const RangeClass of = class_of_unmap(i);
          if (end_of(entry) <= start) return fail(entry_name(entry) + " unmaps no pages");
          note_class(start, end_of(entry), of);
          mapped_[start] = {end_of(entry), of};
          break;
        }
        default:
          break;
      }
    }
  }

  // Cuts [start, end) out of the mapped ranges, which have to cover it.
  bool remove_mapped(std::uint64_t start, std::uint64_t end) {
    while (start < end) {
      const auto found = find_range(mapped_, start);
      if (found == mapped_.end()) return false;
      const RangeEnd whole = found->second;
      const std::uint64_t first = found->first;
      const std::uint64_t cut = std::min(end, whole.end);
      mapped_.erase(found);
      if (first < start) mapped_[first] = {start, whole.of};
      if (cut < whole.end) mapped_[cut] = {whole.end, whole.of};
      start = cut;
    }
    return true;
  }

  // The blocks of one mapped range: older slots, and what is free between them.
  void add_blocks(StartSegment& segment, std::uint64_t start, std::uint64_t end) {
    const auto& slots = requests_.slots.raw();
    const auto older_end = slots.begin() + static_cast<std::ptrdiff_t>(requests_.older_count);
    auto slot = std::lower_bound(slots.begin(), older_end, start, [](const AllocatorSlot& each, std::uint64_t address) {
      return each.address < address;
    });
    std::uint64_t at = start;
    const auto add = [&](std::uint64_t until, const StartBlock& block, SlotId id) {
      if (until <= at) return;
      segment.blocks.push_back(block);
      segment.blocks.back().bytes = static_cast<std::int64_t>(until - at);
      segment.slots.push_back(id);
      at = until;
    };
    for (; slot != older_end && slot->address < end; ++slot) {
      if (slot->address < at) continue;  // two blocks at one place: one of them has no room, and the check says so
      add(slot->address, {}, {});
      const bool has_next = slot + 1 != older_end && (slot + 1)->address < end;
      const std::uint64_t gap_end = has_next ? (slot + 1)->address : end;
      StartBlock block;
      block.requested_bytes = std::min(slot->bytes, kMostBytes);
      block.state = slot->is_free_pending ? StartBlock::State::kPending : StartBlock::State::kAllocated;
      const SlotId id(static_cast<std::size_t>(slot - slots.begin()));
      add(at + block_bytes(id, segment, gap_end - at), block, id);
      ++placed_count_;
    }
    add(end, {}, {});
  }

  [[nodiscard]] std::uint64_t block_bytes(SlotId id, const StartSegment& segment, std::uint64_t gap) {
    const AllocatorSlot& slot = requests_.slots[id];
    const std::int64_t room = static_cast<std::int64_t>(std::min(gap, static_cast<std::uint64_t>(kMostBytes)));
    std::int64_t bytes = slot.block_bytes;
    if (bytes <= 0) {
      bytes = round_request(config_, slot.bytes);
      const bool is_split = should_split(config_, segment.is_small, config_.expandable_segments, room, bytes);
      const bool may_be_more = !segment.is_small && !config_.expandable_segments;
      if (is_split && may_be_more && evident_bytes_[id.value] == 0) ++estimated_count_;
      bytes = !is_split ? room : std::max(bytes, evident_bytes_[id.value]);
    }
    return std::min(static_cast<std::uint64_t>(bytes), gap);
  }

  void lay_out_plain() {
    for (const auto& [start, range] : plain_) {
      StartSegment segment;
      segment.address = start;
      segment.stream = range.of.stream;
      segment.private_pool = range.of.private_pool;
      segment.is_small = range.of.is_small;
      add_blocks(segment, start, range.end);
      result_.push_back(std::move(segment));
    }
  }

  // All that is mapped for one stream and pool lies in one address space, which goes on behind its last page.
  void lay_out_expandable() {
    constexpr std::int64_t kSpaceBehind = 1LL << 52;
    std::map<RangeClass, std::vector<std::pair<std::uint64_t, std::uint64_t>>> classes;
    for (const auto& [start, range] : mapped_) {
      auto& list = classes[range.of];
      if (!list.empty() && list.back().second == start) {
        list.back().second = range.end;
      } else {
        list.emplace_back(start, range.end);
      }
    }
    for (const auto& [of, list] : classes) {
      StartSegment segment;
      segment.address = std::min(least_.at(of), list.front().first);
      segment.stream = of.stream;
      segment.private_pool = of.private_pool;
      segment.is_small = of.is_small;
      segment.is_expandable = true;
      std::uint64_t at = segment.address;
      const auto add_unmapped = [&](std::int64_t bytes) {
        if (bytes <= 0) return;
        segment.blocks.push_back({bytes, 0, StartBlock::State::kUnmapped});
        segment.slots.emplace_back();
      };
      for (const auto& [start, end] : list) {
        add_unmapped(static_cast<std::int64_t>(start - at));
        add_blocks(segment, start, end);
        at = end;
      }
      add_unmapped(kSpaceBehind);
      result_.push_back(std::move(segment));
    }
  }

  void check_slots_and_sizes() {
    if (placed_count_ != requests_.older_count) {
      fail(std::to_string(requests_.older_count - std::min(placed_count_, requests_.older_count)) +
           " blocks older than the history lie in no segment that was there when it began");
    }
    std::int64_t reserved = 0;
    for (const StartSegment& segment : result_) {
      for (const StartBlock& block : segment.blocks) {
        if (block.state == StartBlock::State::kUnmapped) continue;
        constexpr std::int64_t kMost = AllocatorLimits{}.device_bytes;
        reserved = std::min(reserved, kMost) + std::min(block.bytes, kMost);
        if (reserved > kMost) return fail("the segments together are larger than any device");
      }
    }
  }

  const MemorySnapshot& snapshot_;
  const SnapshotEntries& entries_;
  IdRange<SnapshotEntryId> range_;
  IdRange<SnapshotSegmentId> segments_;
  const AllocatorConfig& config_;
  const AllocatorRequests& requests_;
  Ranges plain_, mapped_, known_;
  std::map<RangeClass, std::uint64_t> least_;  // address known of a class
  std::vector<std::int64_t> evident_bytes_;    // by older slot; 0: nothing tells
  std::vector<StartSegment> result_;
  std::size_t placed_count_ = 0;
  std::int64_t estimated_count_ = 0;
  std::string failure_;
};

}  // namespace

std::variant<StartState, std::string> build_start_state(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                                        const AllocatorConfig& config,
                                                        const AllocatorRequests& requests) {
  return StartBuilder(snapshot, device, config, requests).build();
}

void add_start_segments(CachingAllocator& allocator, const std::vector<StartSegment>& segments,
                        Column<SlotId, BlockId>& block_of_slot) {
  for (const StartSegment& segment : segments) {
    const std::vector<BlockId> ids = allocator.add_segment(
        segment.address, segment.blocks, segment.stream, segment.private_pool, segment.is_small, segment.is_expandable);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (segment.slots[i].has_value()) block_of_slot[segment.slots[i]] = ids[i];
    }
  }
}

}  // namespace stepscope

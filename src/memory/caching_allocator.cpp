// Allocation, free, merge and release; expandable segments are in expandable_segments.cpp.
//
// References into blocks_ do not outlive a new_block(): the vector may move.
#include "memory/caching_allocator.h"

#include <algorithm>

namespace stepscope {

CachingAllocator::CachingAllocator(const AllocatorConfig& config, const AllocatorLimits& limits,
                                   AddressSource& addresses, AllocatorListener* listener)
    : config_(config), limits_(limits), addresses_(&addresses), listener_(listener) {
  pools_for(0);
}

CachingAllocator::PoolPair& CachingAllocator::pools_for(std::uint32_t private_pool) {
  while (pools_.size() <= private_pool) {
    const auto number = static_cast<std::uint32_t>(pools_.size());
    PoolPair pair;
    pair.small = std::make_unique<Pool>();
    pair.large = std::make_unique<Pool>();
    pair.small->is_small = true;
    pair.small->private_pool = pair.large->private_pool = number;
    pools_.push_back(std::move(pair));
  }
  return pools_[private_pool];
}

BlockId CachingAllocator::new_block(std::uint64_t address, std::int64_t bytes, std::uint32_t stream,
                                    std::uint32_t pool_index) {
  BlockId id(blocks_.size());
  if (spare_.empty()) {
    blocks_.emplace_back();
  } else {
    id = spare_.back();
    spare_.pop_back();
    at(id) = Block{};
  }
  Block& block = at(id);
  block.address = address;
  block.bytes = bytes;
  block.stream = stream;
  block.pool = pool_index;
  return id;
}

void CachingAllocator::drop_block(BlockId id) {
  at(id).is_gone = true;
  at(id).state = State::kFree;
  spare_.push_back(id);
}

void CachingAllocator::insert_free(BlockId id) {
  Block& block = at(id);
  Pool& owner = pool(block.pool);
  block.state = State::kFree;
  block.freed_at = owner.search_count;
  block.place = owner.free.insert({block.stream, id.value, block.bytes, block.address}).first;
  // Does not change while it is free: a neighbour that becomes free would be merged.
  block.is_releasable = block.is_expandable ? whole_pages(block).second > 0 : is_whole_segment(block);
  if (block.is_releasable) owner.releasable.insert(*block.place);
}

void CachingAllocator::remove_free(BlockId id) {
  const Block& block = at(id);
  Pool& owner = pool(block.pool);
  if (block.is_releasable) owner.releasable.erase(*block.place);
  owner.free.erase(block.place);
}

void CachingAllocator::add_pending(BlockId id) {
  at(id).request_number = first_pending_ + pending_.size();
  pending_.push_back(id);
}

void CachingAllocator::remove_pending(BlockId id) {
  pending_[at(id).request_number - first_pending_] = BlockId();
  while (!pending_.empty() && !pending_.back().has_value()) pending_.pop_back();
  while (!pending_.empty() && !pending_.front().has_value()) {
    pending_.pop_front();
    ++first_pending_;
  }
}

void CachingAllocator::insert_unmapped(BlockId id) {
  Block& block = at(id);
  block.state = State::kUnmapped;
  pool(block.pool).unmapped.emplace(block.stream, block.address, id.value);
}

void CachingAllocator::remove_unmapped(BlockId id) {
  const Block& block = at(id);
  pool(block.pool).unmapped.erase({block.stream, block.address, id.value});
}

void CachingAllocator::link(BlockId left, BlockId right) {
  if (left.has_value()) at(left).next = right;
  if (right.has_value()) at(right).previous = left;
}

// Takes the neighbour in, if it is of the same state; `into` itself is in no set meanwhile.
void CachingAllocator::merge(BlockId into, BlockId neighbour) {
  if (!neighbour.has_value() || at(neighbour).state != at(into).state) return;
  if (at(into).state == State::kFree) {
    remove_free(neighbour);
  } else {
    remove_unmapped(neighbour);
  }
  Block& block = at(into);
  const Block& other = at(neighbour);
  block.bytes += other.bytes;
  if (block.previous == neighbour) {
    block.address = other.address;
    link(other.previous, into);
  } else {
    link(into, other.next);
  }
  drop_block(neighbour);
}

void CachingAllocator::merge_with_neighbours(BlockId id) {
  merge(id, at(id).previous);
  merge(id, at(id).next);
}

void CachingAllocator::record(AllocatorAction action, std::uint64_t address, std::int64_t bytes, std::uint32_t stream,
                              std::uint32_t pool_index) {
  if (listener_ != nullptr) listener_->on_event(action, address, bytes, stream, pool_index / 2);
}

void CachingAllocator::add_reserved(std::int64_t bytes) {
  levels_.reserved_bytes += bytes;
  levels_.reserved_peak_bytes = std::max(levels_.reserved_peak_bytes, levels_.reserved_bytes);
}

CachingAllocator::Search CachingAllocator::make_search(std::int64_t bytes, std::uint32_t stream,
                                                       std::uint32_t private_pool) {
  pools_for(private_pool);
  Search search;
  search.bytes = round_request(config_, bytes);
  search.segment_bytes = segment_bytes_for(config_, search.bytes);
  search.stream = stream;
  search.pool = 2 * private_pool + (is_small_block(search.bytes) ? 0 : 1);
  search.uses_expandable = config_.expandable_segments;
  return search;
}

// The least block that is large enough. Of blocks that can grow, the room to grow counts as theirs, so that the end of
// an expandable segment is not used up while a hole fits.
BlockId CachingAllocator::find_free(const Search& search) {
  const FreeSet& free = pool(search.pool).free;
  auto found = free.lower_bound({search.stream, 0, search.bytes, 0});
  const auto is_ours = [&](FreeSet::const_iterator each) {
    return each != free.end() && each->stream == search.stream;
  };
  if (!is_ours(found)) return {};
  const auto can_grow = [&](FreeSet::const_iterator each) { return at(BlockId(each->block)).is_expandable; };
  if (search.uses_expandable) {
    for (auto next = std::next(found); can_grow(found) && is_ours(next) &&
                                       expandable_bytes(BlockId(next->block)) < expandable_bytes(BlockId(found->block));
         ++next) {
      found = next;
    }
  } else {
    while (is_ours(found) && can_grow(found)) ++found;
    if (!is_ours(found)) return {};
  }
  const std::int64_t oversize = oversize_bytes(config_);
  if (search.bytes < oversize && found->bytes >= oversize) return {};
  if (search.bytes >= oversize && found->bytes >= search.bytes + config_.max_non_split_rounding_bytes) return {};
  return BlockId(found->block);
}

BlockId CachingAllocator::take_free(const Search& search) {
  if (limits_.cap_bytes && config_.garbage_collection_threshold > 0) ++pool(search.pool).search_count;
  const BlockId found = find_free(search);
  if (found.has_value()) remove_free(found);
  return found;
}

BlockId CachingAllocator::take_segment(const Search& search) {
  if (levels_.reserved_bytes + search.segment_bytes > limits_.device_bytes) return {};
  const std::uint64_t address = addresses_->place_segment(search.segment_bytes);
  const BlockId id = new_block(address, search.segment_bytes, search.stream, search.pool);
  ++levels_.device_allocation_count;
  add_reserved(search.segment_bytes);
  record(AllocatorAction::kSegmentAlloc, address, search.segment_bytes, search.stream, search.pool);
  return id;
}

BlockId CachingAllocator::take_from_device(const Search& search, bool is_retry) {
  if (is_retry) ++levels_.retries;
  if (limits_.cap_bytes && levels_.reserved_bytes + search.segment_bytes > *limits_.cap_bytes) return {};
  const bool is_private = search.pool >= 2;
  const bool is_expandable = config_.expandable_segments && (!is_private || config_.expandable_private_pools);
  return is_expandable ? take_expandable(search) : take_segment(search);
}

// In the order of the real one. A request of a private pool comes from a graph being captured, when nothing may be
// synchronized: it never releases everything.
BlockId CachingAllocator::find_block(const Search& search) {
  if (const BlockId id = take_free(search); id.has_value()) return id;
  if (limits_.cap_bytes && config_.garbage_collection_threshold > 0) collect_garbage();
  if (const BlockId id = take_from_device(search, false); id.has_value()) return id;
  if (release_oversize(search)) {
    if (const BlockId id = take_from_device(search, false); id.has_value()) return id;
  }
  if (search.pool >= 2) return {};
  release_cached();
  return take_from_device(search, true);
}

BlockId CachingAllocator::hand_out(BlockId found, const Search& search, std::int64_t requested_bytes) {
  BlockId id = found;
  if (should_split(config_, pool(search.pool).is_small, search.uses_expandable, at(found).bytes, search.bytes)) {
    id = new_block(at(found).address, search.bytes, search.stream, search.pool);
    Block& rest = at(found);
    at(id).is_expandable = rest.is_expandable;
    at(id).base = rest.base;
    link(rest.previous, id);
    link(id, found);
    rest.address += static_cast<std::uint64_t>(search.bytes);
    rest.bytes -= search.bytes;
    insert_free(found);
  }
  Block& block = at(id);
  block.state = State::kAllocated;
  block.requested_bytes = requested_bytes;
  levels_.allocated_bytes += block.bytes;
  levels_.active_bytes += block.bytes;
  levels_.requested_bytes += requested_bytes;
  levels_.allocated_peak_bytes = std::max(levels_.allocated_peak_bytes, levels_.allocated_bytes);
  levels_.active_peak_bytes = std::max(levels_.active_peak_bytes, levels_.active_bytes);
  levels_.requested_peak_bytes = std::max(levels_.requested_peak_bytes, levels_.requested_bytes);
  record(AllocatorAction::kAlloc, block.address, requested_bytes, search.stream, search.pool);
  return id;
}

BlockId CachingAllocator::hand_out_or_fail(BlockId found, const Search& search, std::int64_t requested_bytes) {
  if (!found.has_value()) {
    record(AllocatorAction::kOom, 0, search.bytes, search.stream, search.pool);
    return {};
  }
  return hand_out(found, search, std::clamp<std::int64_t>(requested_bytes, 0, search.bytes));
}

BlockId CachingAllocator::allocate(std::int64_t bytes, std::uint32_t stream, std::uint32_t private_pool) {
  const Search search = make_search(bytes, stream, private_pool);
  return hand_out_or_fail(find_block(search), search, bytes);
}

BlockId CachingAllocator::allocate_from_device(std::int64_t bytes, std::uint32_t stream, std::uint32_t private_pool) {
  const Search search = make_search(bytes, stream, private_pool);
  return hand_out_or_fail(take_from_device(search, false), search, bytes);
}

bool CachingAllocator::has_free_block(std::int64_t bytes, std::uint32_t stream, std::uint32_t private_pool) {
  return find_free(make_search(bytes, stream, private_pool)).has_value();
}

void CachingAllocator::request_free(BlockId id) {
  Block& block = at(id);
  if (block.state != State::kAllocated) return;
  block.state = State::kPending;
  levels_.allocated_bytes -= block.bytes;
  add_pending(id);
  record(AllocatorAction::kFreeRequested, block.address, block.requested_bytes, block.stream, block.pool);
}

void CachingAllocator::complete_free(BlockId id) {
  if (at(id).state != State::kPending) return;
  remove_pending(id);
  Block& block = at(id);
  record(AllocatorAction::kFreeCompleted, block.address, block.requested_bytes, block.stream, block.pool);
  levels_.active_bytes -= block.bytes;
  levels_.requested_bytes -= block.requested_bytes;
  block.requested_bytes = 0;
  block.state = State::kFree;
  merge_with_neighbours(id);
  insert_free(id);
}

// Whole blocks of the large pool that lay unused for longer than the average go, until reserved is at the threshold.
void CachingAllocator::collect_garbage() {
  const auto threshold =
      static_cast<std::int64_t>(config_.garbage_collection_threshold * static_cast<double>(*limits_.cap_bytes));
  const std::int64_t wanted = levels_.reserved_bytes - threshold;
  if (wanted <= 0) return;
  const Pool& large = *pools_[0].large;
  const auto age = [&](const Block& block) { return large.search_count - block.freed_at; };
  std::int64_t total_age = 0, count = 0, released = 0;
  for (const FreeKey& key : large.releasable) {
    const Block& block = at(BlockId(key.block));
    if (!is_whole_segment(block)) continue;
    total_age += age(block);
    ++count;
  }
  for (bool goes_on = true; goes_on && released < wanted && count > 0;) {
    const double average = static_cast<double>(total_age) / static_cast<double>(count);
    goes_on = false;
    for (auto each = large.releasable.begin(); each != large.releasable.end();) {
      const BlockId id((each++)->block);
      const Block& block = at(id);
      if (!is_whole_segment(block) || block.is_expandable || static_cast<double>(age(block)) < average) continue;
      goes_on = true;
      released += block.bytes;
      total_age -= age(block);
      --count;
      release_segment(id);
    }
  }
}

// With a limit on splitting: one block that is large enough, or several oversize ones from the largest down.
bool CachingAllocator::release_oversize(const Search& search) {
  if (!config_.max_split_size_bytes) return false;
  const std::int64_t oversize = *config_.max_split_size_bytes;
  const std::int64_t wanted = std::max(search.bytes, oversize);
  const FreeSet& free = pool(search.pool).free;
  auto each = free.lower_bound({search.stream, 0, wanted, 0});
  const auto can_release = [&](FreeSet::const_iterator key) {
    const Block& block = at(BlockId(key->block));
    return !block.is_expandable && is_whole_segment(block);
  };
  if (each != free.end() && each->stream == search.stream && can_release(each)) {
    release_segment(BlockId(each->block));
    return true;
  }
  std::int64_t released = 0;
  while (each != free.begin() && released < wanted) {
    --each;
    if (each->stream != search.stream || each->bytes < oversize) break;
    if (!can_release(each)) continue;
    const BlockId id(each->block);
    released += each->bytes;
    ++each;  // stays valid when its neighbour goes
    release_segment(id);
  }
  return released >= wanted;
}

void CachingAllocator::release_segment(BlockId id) {
  const Block& block = at(id);
  record(AllocatorAction::kSegmentFree, block.address, block.bytes, block.stream, block.pool);
  addresses_->free_segment(block.address, block.bytes);
  levels_.reserved_bytes -= block.bytes;
  remove_free(id);
  drop_block(id);
}

void CachingAllocator::release_pool(std::uint32_t pool_index) {
  std::vector<BlockId> free;
  for (const FreeKey& key : pool(pool_index).releasable) free.emplace_back(key.block);
  for (const BlockId id : free) {
    if (!at(id).is_expandable && is_whole_segment(at(id))) release_segment(id);
  }
  for (const BlockId id : free) {
    if (!at(id).is_gone && at(id).is_expandable) unmap(id);
  }
}

void CachingAllocator::release_cached() {
  ++release_count_;
  while (!pending_.empty()) complete_free(pending_.front());
  release_pool(1);
  release_pool(0);
  for (std::size_t i = 1; i < pools_.size(); ++i) {
    if (!pools_[i].may_release) continue;
    release_pool(static_cast<std::uint32_t>(2 * i));
    release_pool(static_cast<std::uint32_t>(2 * i + 1));
  }
}

std::vector<BlockId> CachingAllocator::add_segment(std::uint64_t address, const std::vector<StartBlock>& blocks,
                                                   std::uint32_t stream, std::uint32_t private_pool, bool is_small,
                                                   bool is_expandable) {
  pools_for(private_pool);
  std::vector<BlockId> ids;
  ids.reserve(blocks.size());
  BlockId previous;
  std::uint64_t place = address;
  for (const StartBlock& start : blocks) {
    const BlockId id = new_block(place, start.bytes, stream, 2 * private_pool + (is_small ? 0 : 1));
    at(id).is_expandable = is_expandable;
    at(id).base = address;
    link(previous, id);
    if (start.state == State::kUnmapped) {
      insert_unmapped(id);
    } else {
      add_reserved(start.bytes);
    }
    if (start.state == State::kAllocated || start.state == State::kPending) {
      at(id).state = start.state;
      at(id).requested_bytes = start.requested_bytes;
      levels_.active_bytes += start.bytes;
      levels_.requested_bytes += start.requested_bytes;
    }
    if (start.state == State::kAllocated) levels_.allocated_bytes += start.bytes;
    if (start.state == State::kPending) add_pending(id);
    place += static_cast<std::uint64_t>(start.bytes);
    previous = id;
    ids.push_back(id);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {  // when all are neighbours
    if (blocks[i].state == State::kFree) insert_free(ids[i]);
  }
  levels_.allocated_peak_bytes = std::max(levels_.allocated_peak_bytes, levels_.allocated_bytes);
  levels_.active_peak_bytes = std::max(levels_.active_peak_bytes, levels_.active_bytes);
  levels_.requested_peak_bytes = std::max(levels_.requested_peak_bytes, levels_.requested_bytes);
  return ids;
}

bool CachingAllocator::release_these(const std::set<Range>& segments, const std::set<Range>& unmapped) {
  std::vector<BlockId> to_release, to_unmap;
  for (const PoolPair& pair : pools_) {
    for (const Pool* each : {pair.large.get(), pair.small.get()}) {
      for (const FreeKey& key : each->releasable) {
        const BlockId id(key.block);
        const Block& block = at(id);
        if (block.is_expandable) {
          if (unmapped.contains(whole_pages(block))) to_unmap.push_back(id);
        } else if (is_whole_segment(block) && segments.contains({block.address, block.bytes})) {
          to_release.push_back(id);
        }
      }
    }
  }
  for (const BlockId id : to_release) release_segment(id);
  for (const BlockId id : to_unmap) unmap(id);
  return to_release.size() == segments.size() && to_unmap.size() == unmapped.size();
}

std::vector<CachingAllocator::BlockView> CachingAllocator::all_blocks() const {
  std::vector<BlockId> firsts;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (!blocks_[i].is_gone && !blocks_[i].previous.has_value()) firsts.emplace_back(i);
  }
  std::sort(firsts.begin(), firsts.end(), [&](BlockId a, BlockId b) { return at(a).address < at(b).address; });
  std::vector<BlockView> views;
  for (const BlockId first : firsts) {
    for (BlockId id = first; id.has_value(); id = at(id).next) {
      const Block& block = at(id);
      views.push_back({block.address, block.bytes, block.requested_bytes, block.state, block.stream, block.pool / 2,
                       block.pool % 2 == 0, block.is_expandable, id == first});
    }
  }
  return views;
}

}  // namespace stepscope

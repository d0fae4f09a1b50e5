// PyTorch's caching allocator of one device as a state machine: blocks, pools, segments, and what it asks of the
// device.
//
// It holds no memory: a block is an address and a size. Segments are taken from the device and cut into blocks; freed
// blocks join with free neighbours; each pool keeps its free blocks by (stream, size, address), so that the best fit is
// one search. An allocation goes through, in this order: a free block; garbage collection (only with a threshold and a
// cap); the device; release of oversize blocks; release of everything that is whole, and a retry. Frees that wait for
// other streams are completed by the caller, who knows when; a release of everything completes them all.
//
// Addresses come from outside (AddressSource): a replay hands out the recorded ones. Pools and streams are small
// numbers given by the caller; streams have to be in the order of their handles. Blocks are numbers into one vector.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "memory/allocator_rules.h"
#include "memory/snapshot.h"

namespace stepscope {

using BlockId = Id<struct AllocatorBlockTag>;

// Where the device puts what it gives. Never fails: whether there is memory is decided before.
class AddressSource {
 public:
  virtual ~AddressSource() = default;
  virtual std::uint64_t place_segment(std::int64_t bytes) = 0;
  // Address space of an expandable segment, of which pages are mapped as needed.
  virtual std::uint64_t place_reservation(std::int64_t bytes) = 0;
  virtual void free_segment(std::uint64_t address, std::int64_t bytes) = 0;
};

// Sees all that torch would record, in its order and with its numbers.
class AllocatorListener {
 public:
  virtual ~AllocatorListener() = default;
  // `bytes` as torch records them: requested for alloc and frees, rounded for oom. Of an oom, `address` is 0.
  virtual void on_event(AllocatorAction action, std::uint64_t address, std::int64_t bytes, std::uint32_t stream,
                        std::uint32_t private_pool) = 0;
};

struct AllocatorLimits {
  // set_per_process_memory_fraction: a request is refused when its segment would lead beyond. Collection needs it.
  std::optional<std::int64_t> cap_bytes;
  // What the device has for this process; 2^50 stands for no limit and keeps sums within 64 bits.
  std::int64_t device_bytes = 1LL << 50;
};

struct AllocatorLevels {
  std::int64_t reserved_bytes = 0, allocated_bytes = 0, active_bytes = 0, requested_bytes = 0;
  std::int64_t reserved_peak_bytes = 0, allocated_peak_bytes = 0, active_peak_bytes = 0, requested_peak_bytes = 0;
  std::int64_t retries = 0;
  std::int64_t device_allocation_count = 0;  // as torch counts num_device_alloc: segments, and each mapping of pages
};

class CachingAllocator {
 public:
  CachingAllocator(const AllocatorConfig& config, const AllocatorLimits& limits, AddressSource& addresses,
                   AllocatorListener* listener = nullptr);

  // `private_pool` 0: the default pool. Empty id: out of memory.
  BlockId allocate(std::int64_t bytes, std::uint32_t stream, std::uint32_t private_pool);
  // The program lets go; other streams may still use it. Without effect unless allocated.
  void request_free(BlockId block);
  // Without effect unless a free was requested. A release (see release_count) completes all; block ids are used again.
  void complete_free(BlockId block);
  [[nodiscard]] bool is_pending(BlockId block) const { return blocks_[block.value].state == State::kPending; }
  // torch.cuda.empty_cache().
  void release_cached();
  // How often everything was released, by empty_cache or for a retry.
  [[nodiscard]] std::int64_t release_count() const { return release_count_; }
  // No graph uses the pool any more: its memory may be released.
  void let_release(std::uint32_t private_pool) { pools_for(private_pool).may_release = true; }

  // For the start of a replay: an existing segment, as its blocks from left to right.
  struct StartBlock {
    std::int64_t bytes = 0;
    std::int64_t requested_bytes = 0;
    enum class State : std::uint8_t { kFree, kAllocated, kPending, kUnmapped } state = State::kFree;
  };
  // Returns the blocks' ids. Unmapped ones only where `is_expandable`.
  std::vector<BlockId> add_segment(std::uint64_t address, const std::vector<StartBlock>& blocks, std::uint32_t stream,
                                   std::uint32_t private_pool, bool is_small, bool is_expandable);

  // For a replay: what the real one gave back or mapped. False: it could not have, here.
  using Range = std::pair<std::uint64_t, std::int64_t>;  // address, bytes
  bool release_these(const std::set<Range>& segments, const std::set<Range>& unmapped);
  bool map_this(const Range& range);

  // As allocate, but without looking for a free block: what a retry does after it has released everything.
  BlockId allocate_from_device(std::int64_t bytes, std::uint32_t stream, std::uint32_t private_pool);

  // Would a free block serve this? Changes nothing.
  [[nodiscard]] bool has_free_block(std::int64_t bytes, std::uint32_t stream, std::uint32_t private_pool);

  [[nodiscard]] std::uint64_t address(BlockId block) const { return blocks_[block.value].address; }
  [[nodiscard]] std::int64_t bytes(BlockId block) const { return blocks_[block.value].bytes; }
  [[nodiscard]] const AllocatorLevels& levels() const { return levels_; }

  // All blocks of all segments, from left to right, for tests and for writing snapshots.
  struct BlockView {
    std::uint64_t address = 0;
    std::int64_t bytes = 0, requested_bytes = 0;
    StartBlock::State state = StartBlock::State::kFree;
    std::uint32_t stream = 0, private_pool = 0;
    bool is_small = false, is_expandable = false;
    bool is_first = false;  // of its segment
  };
  [[nodiscard]] std::vector<BlockView> all_blocks() const;

 private:
  using State = StartBlock::State;

  struct FreeKey {
    std::uint32_t stream = 0;
    std::uint32_t block = 0;  // the last resort: hostile recordings have two blocks at one address
    std::int64_t bytes = 0;
    std::uint64_t address = 0;
    bool operator<(const FreeKey& other) const {
      return std::tie(stream, bytes, address, block) < std::tie(other.stream, other.bytes, other.address, other.block);
    }
  };
  using FreeSet = std::set<FreeKey>;
  using UnmappedSet = std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>>;  // stream, address, block

  struct Pool {
    FreeSet free;
    FreeSet releasable;  // those of `free` that a release gives back: most programs release often, and little of many
    UnmappedSet unmapped;
    std::int64_t search_count = 0;  // the clock of garbage collection
    std::uint32_t private_pool = 0;
    bool is_small = false;
  };

  struct Block {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t requested_bytes = 0;
    std::int64_t freed_at = 0;         // Pool::search_count when it became free
    std::uint64_t base = 0;            // of an expandable segment: pages begin at multiples from here
    FreeSet::iterator place{};         // in Pool::free, while free and mapped
    std::uint64_t request_number = 0;  // while pending: its place in pending_, see there
    BlockId previous, next;            // neighbours of the same segment
    std::uint32_t stream = 0;
    std::uint32_t pool = 0;  // 2 * private pool, + 1: its large one
    State state = State::kFree;
    bool is_expandable = false;
    bool is_gone = false;        // waits in spare_
    bool is_releasable = false;  // stands in Pool::releasable
  };

  struct PoolPair {
    std::unique_ptr<Pool> small, large;
    bool may_release = false;
  };

  struct Search {
    std::int64_t bytes = 0;  // rounded
    std::int64_t segment_bytes = 0;
    std::uint32_t stream = 0;
    std::uint32_t pool = 0;
    bool uses_expandable = false;
  };

  [[nodiscard]] Block& at(BlockId id) { return blocks_[id.value]; }
  [[nodiscard]] const Block& at(BlockId id) const { return blocks_[id.value]; }
  PoolPair& pools_for(std::uint32_t private_pool);
  [[nodiscard]] Pool& pool(std::uint32_t index) {
    return index % 2 == 0 ? *pools_[index / 2].small : *pools_[index / 2].large;
  }
  BlockId new_block(std::uint64_t address, std::int64_t bytes, std::uint32_t stream, std::uint32_t pool);
  void drop_block(BlockId id);
  void insert_free(BlockId id);
  void insert_unmapped(BlockId id);
  void add_pending(BlockId id);
  void remove_pending(BlockId id);
  void remove_free(BlockId id);
  void remove_unmapped(BlockId id);
  void link(BlockId left, BlockId right);
  void merge(BlockId into, BlockId neighbour);
  void merge_with_neighbours(BlockId id);
  [[nodiscard]] bool is_whole_segment(const Block& block) const {
    return !block.previous.has_value() && !block.next.has_value();
  }
  void record(AllocatorAction action, std::uint64_t address, std::int64_t bytes, std::uint32_t stream,
              std::uint32_t pool);
  void add_reserved(std::int64_t bytes);

  [[nodiscard]] Search make_search(std::int64_t bytes, std::uint32_t stream, std::uint32_t private_pool);
  [[nodiscard]] BlockId find_free(const Search& search);
  BlockId take_free(const Search& search);
  BlockId take_from_device(const Search& search, bool is_retry);
  BlockId take_segment(const Search& search);
  BlockId find_block(const Search& search);
  BlockId hand_out_or_fail(BlockId found, const Search& search, std::int64_t requested_bytes);
  BlockId hand_out(BlockId found, const Search& search, std::int64_t requested_bytes);
  void collect_garbage();
  bool release_oversize(const Search& search);
  void release_pool(std::uint32_t pool);
  void release_segment(BlockId id);

  // Expandable segments: expandable_segments.cpp.
  BlockId take_expandable(const Search& search);
  BlockId find_expandable(const Search& search);
  [[nodiscard]] std::int64_t expandable_bytes(BlockId id) const;
  bool map(BlockId id, std::int64_t bytes);
  [[nodiscard]] Range whole_pages(const Block& block) const;
  void unmap(BlockId id);

  AllocatorConfig config_;
  AllocatorLimits limits_;
  AddressSource* addresses_;
  AllocatorListener* listener_;
  AllocatorLevels levels_;
  std::int64_t release_count_ = 0;
  std::vector<Block> blocks_;
  std::vector<BlockId> spare_;
  std::vector<PoolPair> pools_;
  // In the order of their requests. What completes out of order leaves an empty id, so that none is searched for.
  std::deque<BlockId> pending_;
  std::uint64_t first_pending_ = 0;  // request number of its front
};

}  // namespace stepscope

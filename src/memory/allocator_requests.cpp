// The passes: numbers for streams and pools; the pool of each entry; slots by address; steps; releases told apart.
#include "memory/allocator_requests.h"

#include <tsl/robin_map.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/hash.h"

namespace stepscope {
namespace {

using Kind = AllocatorStep::Kind;

bool is_release(AllocatorAction action) {
  return action == AllocatorAction::kSegmentFree || action == AllocatorAction::kSegmentUnmap;
}
bool is_growth(AllocatorAction action) {
  return action == AllocatorAction::kSegmentAlloc || action == AllocatorAction::kSegmentMap;
}

// Free blocks are kept by the handle of their stream, as an address.
std::vector<std::uint32_t> number_streams(const MemorySnapshot& snapshot) {
  const std::vector<std::int64_t>& handles = snapshot.streams.raw();
  std::vector<std::uint32_t> order(handles.size()), numbers(handles.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint64_t>(handles[a]) < static_cast<std::uint64_t>(handles[b]);
  });
  for (std::size_t i = 0; i < order.size(); ++i) numbers[order[i]] = static_cast<std::uint32_t>(i);
  return numbers;
}

std::vector<std::uint32_t> number_pools(const MemorySnapshot& snapshot) {
  std::vector<std::uint32_t> numbers;
  std::uint32_t next = 1;
  for (const auto& pool : snapshot.pools.raw()) {
    numbers.push_back(pool == std::pair<std::int64_t, std::int64_t>(0, 0) ? 0 : next++);
  }
  return numbers;
}

class RequestsBuilder {
 public:
  RequestsBuilder(const MemorySnapshot& snapshot, SnapshotDeviceId device)
      : snapshot_(snapshot),
        entries_(snapshot.entries),
        range_(snapshot.devices.entries[device]),
        segments_(snapshot.devices.segments[device]),
        config_(recorded_allocator_config(snapshot)) {}

  AllocatorRequests build() {
    requests_.stream_numbers = number_streams(snapshot_);
    requests_.pool_numbers = number_pools(snapshot_);
    requests_.slot_of_entry.resize(range_.size());
    requests_.is_own_release.resize(range_.size());
    requests_.retry_of_entry.resize(range_.size(), AllocatorRequests::kNoRetry);
    number_streams_and_pools();
    find_slots();
    sort_older_slots();
    tell_releases_apart();
    find_retries();
    write_steps();
    return std::move(requests_);
  }

 private:
  [[nodiscard]] std::size_t index(SnapshotEntryId entry) const { return entry.value - range_.begin; }
  [[nodiscard]] SnapshotEntryId entry_at(std::size_t index) const { return SnapshotEntryId(range_.begin + index); }
  [[nodiscard]] AllocatorAction action_at(std::size_t index) const { return entries_.action[entry_at(index)]; }

  void number_streams_and_pools() {
    bool has_pools = false;
    for (const SnapshotEntryId entry : range_.ids()) {
      requests_.stream_of_entry.push_back(requests_.stream_number(entries_.stream[entry]));
      requests_.pool_of_entry.push_back(requests_.pool_number(entries_.pool[entry]));
      has_pools = has_pools || entries_.pool[entry].has_value();
    }
    if (!has_pools) find_pools_by_address();
  }

  // Before torch 2.12 entries do not name the pool. The segments do, as far back as each existed.
  void find_pools_by_address() {
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> pools;  // start: end, pool
    for (const SnapshotSegmentId segment : segments_.ids()) {
      const std::uint32_t pool = requests_.pool_number(snapshot_.segments.pool[segment]);
      const std::uint64_t start = snapshot_.segments.address[segment];
      if (pool != 0) {
        pools[start] = {start + static_cast<std::uint64_t>(snapshot_.segments.total_bytes[segment]), pool};
      }
    }
    for (std::size_t i = range_.size(); i-- > 0 && !pools.empty();) {
      const std::uint64_t address = entries_.address[entry_at(i)];
      auto found = pools.upper_bound(address);
      if (action_at(i) == AllocatorAction::kOom || found == pools.begin()) continue;
      --found;
      if (address >= found->second.first) continue;
      requests_.pool_of_entry[i] = found->second.second;
      if (action_at(i) == AllocatorAction::kSegmentAlloc && found->first == address) pools.erase(found);
    }
  }

  SlotId add_slot(std::size_t i) {
    AllocatorSlot slot;
    slot.bytes = entries_.size_bytes[entry_at(i)];
    slot.address = entries_.address[entry_at(i)];
    slot.stream = requests_.stream_of_entry[i];
    slot.private_pool = requests_.pool_of_entry[i];
    requests_.slots.push_back(slot);
    return SlotId(requests_.slots.size() - 1);
  }

  void add_older(SlotId slot) { older_.push_back(slot); }

  // Pairs allocations and frees by address. What is freed unseen was live before the history began.
  void find_slots() {
    for (std::size_t i = 0; i < range_.size(); ++i) {
      switch (action_at(i)) {
        case AllocatorAction::kAlloc:
          requests_.slot_of_entry[i] = see_allocation(i);
          break;
        case AllocatorAction::kFreeRequested:
        case AllocatorAction::kFreeCompleted:
          requests_.slot_of_entry[i] = see_free(i);
          break;
        case AllocatorAction::kOom:
          requests_.slot_of_entry[i] = add_slot(i);
          break;
        default:
          break;
      }
    }
    for (const SnapshotSegmentId segment : segments_.ids()) see_segment(segment);
  }

  enum class Life : std::uint8_t { kAllocated, kFreeRequested, kGone };
  struct Known {
    SlotId slot;
    Life life = Life::kAllocated;
  };

  SlotId see_allocation(std::size_t i) {
    const SlotId slot = add_slot(i);
    Known& known = known_[entries_.address[entry_at(i)]];
    if (known.slot.has_value() && known.life != Life::kGone) ++requests_.contradiction_count;
    known = {slot, Life::kAllocated};
    return slot;
  }

  SlotId see_free(std::size_t i) {
    const bool completes = action_at(i) == AllocatorAction::kFreeCompleted;
    Known& known = known_[entries_.address[entry_at(i)]];
    if (!known.slot.has_value()) {
      known = {add_slot(i), Life::kAllocated};
      requests_.slots[known.slot].is_free_pending = completes;
      add_older(known.slot);
    }
    if (known.life == Life::kGone || (known.life == Life::kFreeRequested && !completes)) {
      ++requests_.contradiction_count;
      return {};
    }
    known.life = completes ? Life::kGone : Life::kFreeRequested;
    return known.slot;
  }

  void see_segment(SnapshotSegmentId segment) {
    const SnapshotBlocks& blocks = snapshot_.blocks;
    for (const SnapshotBlockId block : snapshot_.segments.blocks[segment].ids()) {
      if (blocks.state[block] == BlockState::kInactive) continue;
      Known& known = known_[blocks.address[block]];
      if (known.slot.has_value() && known.life == Life::kGone) ++requests_.contradiction_count;
      if (!known.slot.has_value()) {
        AllocatorSlot slot;
        slot.address = blocks.address[block];
        slot.bytes = std::max<std::int64_t>(blocks.requested_bytes[block].value_or(blocks.size_bytes[block]), 0);
        slot.stream = requests_.stream_number(snapshot_.segments.stream[segment]);
        slot.private_pool = requests_.pool_number(snapshot_.segments.pool[segment]);
        slot.is_free_pending = blocks.state[block] == BlockState::kActivePendingFree;
        requests_.slots.push_back(slot);
        known = {SlotId(requests_.slots.size() - 1), Life::kAllocated};
        add_older(known.slot);
      }
      if (known.life != Life::kGone) requests_.slots[known.slot].block_bytes = blocks.size_bytes[block];
    }
  }

  // To the front, by address: the order in which a simulation places them.
  void sort_older_slots() {
    Column<SlotId, AllocatorSlot>& slots = requests_.slots;
    std::sort(older_.begin(), older_.end(), [&](SlotId a, SlotId b) {
      return std::pair(slots[a].address, a.value) < std::pair(slots[b].address, b.value);
    });
    std::vector<bool> is_older(slots.size());
    for (const SlotId slot : older_) is_older[slot.value] = true;
    std::vector<SlotId> order = older_;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (!is_older[i]) order.emplace_back(i);
    }
    Column<SlotId, AllocatorSlot> sorted;
    std::vector<SlotId> new_place(slots.size());
    sorted.raw().reserve(slots.size());
    for (const SlotId old : order) {
      new_place[old.value] = SlotId(sorted.size());
      sorted.push_back(slots[old]);
    }
    for (SlotId& slot : requests_.slot_of_entry) {
      if (slot.has_value()) slot = new_place[slot.value];
    }
    slots = std::move(sorted);
    requests_.older_count = older_.size();
  }

  [[nodiscard]] std::int64_t reserved_change(std::size_t i) const {
    const std::int64_t bytes = std::min(entries_.size_bytes[entry_at(i)], kMostBytes);
    return is_growth(action_at(i)) ? bytes : is_release(action_at(i)) ? -bytes : 0;
  }

  // What follows a run of releases (and of frees completed on the way); the end of the history if nothing does.
  [[nodiscard]] std::size_t end_of_run(std::size_t i) const {
    while (i < range_.size() && (is_release(action_at(i)) || action_at(i) == AllocatorAction::kFreeCompleted)) ++i;
    return i;
  }

  void tell_releases_apart() {
    std::uint64_t end = 0;  // unsigned: hostile sums wrap
    for (const SnapshotSegmentId segment : segments_.ids()) {
      end += static_cast<std::uint64_t>(snapshot_.segments.total_bytes[segment]);
    }
    std::uint64_t change = 0;
    for (std::size_t i = 0; i < range_.size(); ++i) change += static_cast<std::uint64_t>(reserved_change(i));
    auto reserved = static_cast<std::int64_t>(end - change);
    requests_.reserved_start_bytes = requests_.reserved_peak_bytes = reserved;
    std::vector<std::int64_t> before(range_.size());
    for (std::size_t i = 0; i < range_.size(); ++i) {
      before[i] = reserved;
      reserved = static_cast<std::int64_t>(static_cast<std::uint64_t>(reserved) +
                                           static_cast<std::uint64_t>(reserved_change(i)));
      requests_.reserved_peak_bytes = std::max(requests_.reserved_peak_bytes, reserved);
    }
    for (std::size_t i = 0; i < range_.size();) {
      if (!is_release(action_at(i))) {
        ++i;
        continue;
      }
      const std::size_t next = end_of_run(i);
      const bool is_own = next < range_.size() && is_within_request(i, next, before[i]);
      for (; i < next; ++i) requests_.is_own_release[i] = is_own && is_release(action_at(i));
    }
  }

  [[nodiscard]] bool is_within_request(std::size_t release, std::size_t next, std::int64_t reserved_before) const {
    const AllocatorAction action = action_at(next);
    if (!is_growth(action) && action != AllocatorAction::kOom && action != AllocatorAction::kAlloc) return false;
    const SnapshotStackId own = entries_.stack[entry_at(release)], request = entries_.stack[entry_at(next)];
    if (own.has_value() && request.has_value()) return own == request;
    if (action == AllocatorAction::kOom) return true;
    if (snapshot_.settings.garbage_collection_threshold.value_or(0) > 0) return is_growth(action);
    constexpr std::int64_t kMostReserved = std::numeric_limits<std::int64_t>::max() - kMostBytes;
    return is_growth(action) && reserved_before < kMostReserved &&
           reserved_before + bytes_asked_for(next) > requests_.reserved_peak_bytes;
  }

  // Of the device, by the request that follows a growth: a cap is held against its segment, of which expandable
  // segments may map less.
  [[nodiscard]] std::int64_t bytes_asked_for(std::size_t growth) const {
    std::size_t request = growth;
    while (request < range_.size() && is_growth(action_at(request))) ++request;
    if (request == range_.size()) return reserved_change(growth);
    const std::int64_t block_bytes = round_request(config_, entries_.size_bytes[entry_at(request)]);
    return std::max(reserved_change(growth), segment_bytes_for(config_, block_bytes));
  }

  // Frees that wait, after each entry.
  [[nodiscard]] std::vector<std::int64_t> count_waiting() const {
    std::int64_t waiting = 0;
    for (std::size_t i = 0; i < requests_.older_count; ++i) {
      waiting += requests_.slots[SlotId(i)].is_free_pending ? 1 : 0;
    }
    std::vector<Life> life(requests_.slots.size(), Life::kAllocated);
    std::vector<std::int64_t> counts(range_.size());
    for (std::size_t i = 0; i < range_.size(); ++i) {
      const SlotId slot = requests_.slot_of_entry[i];
      if (slot.has_value() && action_at(i) == AllocatorAction::kFreeRequested) {
        life[slot.value] = Life::kFreeRequested;
        ++waiting;
      }
      if (slot.has_value() && action_at(i) == AllocatorAction::kFreeCompleted) {
        const bool waited = life[slot.value] == Life::kFreeRequested || requests_.slots[slot].is_free_pending;
        waiting -= waited ? 1 : 0;
      }
      counts[i] = waiting;
    }
    return counts;
  }

  // A request that failed has tried again, and so has one that released everything. Where collection or a limit on
  // splitting release too, the latter is told by what only a retry does: wait for all streams, so that no free waits
  // any more, and release small segments, or ones that are not oversize.
  void find_retries() {
    const bool collects = config_.garbage_collection_threshold > 0;
    const bool only_retries_release = !collects && !config_.max_split_size_bytes;
    const auto is_of_retry_alone = [&](std::size_t i) {
      const std::int64_t bytes = entries_.size_bytes[entry_at(i)];
      return action_at(i) == AllocatorAction::kSegmentUnmap || bytes <= kSmallSegmentBytes ||
             (!collects && bytes < oversize_bytes(config_));
    };
    const std::vector<std::int64_t> waiting = count_waiting();
    bool has_released = false;
    for (std::size_t i = 0; i < range_.size(); ++i) {
      if (is_of_request(i)) {
        has_released = has_released || (requests_.is_own_release[i] && (only_retries_release || is_of_retry_alone(i)));
        continue;
      }
      const bool is_retry =
          action_at(i) == AllocatorAction::kOom ||
          (action_at(i) == AllocatorAction::kAlloc && has_released && (only_retries_release || waiting[i] == 0));
      if (is_retry && requests_.pool_of_entry[i] == 0) mark_retry(i);
      has_released = false;
    }
  }

  // What stands before a request and may have been done for it.
  [[nodiscard]] bool is_of_request(std::size_t i) const {
    return is_release(action_at(i)) || is_growth(action_at(i)) || action_at(i) == AllocatorAction::kFreeCompleted;
  }

  void mark_retry(std::size_t request) {
    std::size_t start = request;
    while (start > 0 && is_of_request(start - 1)) --start;
    const bool is_plain_free = start < request && is_completed_at_once(start);
    for (std::size_t i = start + (is_plain_free ? 1 : 0); i <= request; ++i) {
      requests_.retry_of_entry[i] = static_cast<std::uint32_t>(request);
    }
  }

  void write_steps() {
    std::vector<bool> may_release(snapshot_.pools.size() + 1);
    std::vector<Life> life(requests_.slots.size(), Life::kAllocated);
    bool was_program_release = false;
    std::vector<std::size_t> forced;  // completed by a retry whose request is to come
    for (std::size_t i = 0; i < range_.size(); ++i) {
      const AllocatorAction action = action_at(i);
      const SlotId slot = requests_.slot_of_entry[i];
      if (is_release(action)) {
        const std::uint32_t pool = requests_.pool_of_entry[i];
        if (pool != 0 && !may_release[pool] && shows_end_of_graphs(i)) {
          add_step(Kind::kLetRelease, pool, i);
          may_release[pool] = true;
        }
        if (!requests_.is_own_release[i] && !was_program_release) add_step(Kind::kReleaseCached, 0, i);
        was_program_release = !requests_.is_own_release[i];
        continue;
      }
      if (action != AllocatorAction::kFreeCompleted) was_program_release = false;
      if (!slot.has_value()) continue;
      if (action == AllocatorAction::kAlloc) add_step(Kind::kAllocate, slot.value, i);
      if (action == AllocatorAction::kOom) add_step(Kind::kFail, slot.value, i);
      if (action == AllocatorAction::kFreeRequested) request_free(slot, i, life);
      if (action == AllocatorAction::kFreeCompleted) {
        if (requests_.retry_of_entry[i] == AllocatorRequests::kNoRetry) {
          complete_free(slot, i, life);
        } else {
          forced.push_back(i);
        }
      }
      if (requests_.retry_of_entry[i] != i) continue;
      for (const std::size_t each : forced) complete_free(requests_.slot_of_entry[each], each, life);
      forced.clear();
    }
  }

  // Memory of a private pool was given back: no graph uses the pool any more, unless one that is being captured
  // released an oversize block for itself.
  [[nodiscard]] bool shows_end_of_graphs(std::size_t i) const {
    if (!requests_.is_own_release[i]) return true;
    return requests_.pool_of_entry[end_of_run(i)] != requests_.pool_of_entry[i];
  }

  // Its request is the entry before, and not just the last before a retry, whose stack it would have.
  [[nodiscard]] bool is_completed_at_once(std::size_t i) const {
    if (i == 0 || action_at(i) != AllocatorAction::kFreeCompleted || !requests_.slot_of_entry[i].has_value())
      return false;
    return action_at(i - 1) == AllocatorAction::kFreeRequested &&
           requests_.slot_of_entry[i] == requests_.slot_of_entry[i - 1] &&
           entries_.stack[entry_at(i)] == entries_.stack[entry_at(i - 1)];
  }

  // Completed by the very next entry: one step.
  void request_free(SlotId slot, std::size_t i, std::vector<Life>& life) {
    const bool at_once = i + 1 < range_.size() && is_completed_at_once(i + 1) &&
                         requests_.retry_of_entry[i + 1] == AllocatorRequests::kNoRetry;
    life[slot.value] = at_once ? Life::kGone : Life::kFreeRequested;
    add_step(at_once ? Kind::kFree : Kind::kRequestFree, slot.value, i);
  }

  void complete_free(SlotId slot, std::size_t i, std::vector<Life>& life) {
    const bool was_requested = life[slot.value] == Life::kFreeRequested || requests_.slots[slot].is_free_pending;
    if (life[slot.value] != Life::kGone) add_step(was_requested ? Kind::kCompleteFree : Kind::kFree, slot.value, i);
    life[slot.value] = Life::kGone;
  }

  void add_step(Kind kind, std::uint32_t number, std::size_t i) {
    requests_.steps.push_back({kind, number, entry_at(i)});
  }

  const MemorySnapshot& snapshot_;
  const SnapshotEntries& entries_;
  IdRange<SnapshotEntryId> range_;
  IdRange<SnapshotSegmentId> segments_;
  AllocatorConfig config_;
  AllocatorRequests requests_;
  tsl::robin_map<std::uint64_t, Known, MixedHash> known_;
  std::vector<SlotId> older_;
};

}  // namespace

std::uint32_t AllocatorRequests::stream_number(SnapshotStreamId stream) const {
  return stream.has_value() ? stream_numbers[stream.value] : static_cast<std::uint32_t>(stream_numbers.size());
}

std::uint32_t AllocatorRequests::pool_number(SnapshotPoolId pool) const {
  return pool.has_value() ? pool_numbers[pool.value] : 0;
}

bool AllocatorRequests::has_private_pool() const {
  return std::any_of(pool_numbers.begin(), pool_numbers.end(), [](std::uint32_t number) { return number != 0; });
}

AllocatorRequests build_allocator_requests(const MemorySnapshot& snapshot, SnapshotDeviceId device) {
  return RequestsBuilder(snapshot, device).build();
}

}  // namespace stepscope

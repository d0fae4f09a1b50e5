// Steps on slots, played to an allocator.
#include "memory/allocator_simulation.h"

#include <algorithm>

#include "memory/likely_addresses.h"

namespace stepscope {
namespace {

using Kind = AllocatorStep::Kind;

// Does any oom of the recording show that the device itself had too little left?
CapacityKind find_capacity_kind(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                const AllocatorConfig& config) {
  for (const SnapshotEntryId entry : snapshot.devices.entries[device].ids()) {
    if (snapshot.entries.action[entry] != AllocatorAction::kOom) continue;
    const std::int64_t wanted = segment_bytes_for(config, round_request(config, snapshot.entries.size_bytes[entry]));
    if (snapshot.entries.address[entry] < static_cast<std::uint64_t>(wanted)) return CapacityKind::kDevice;
  }
  return CapacityKind::kCap;
}

class Player {
 public:
  Player(const AllocatorRequests& requests, CachingAllocator& allocator) : requests_(requests), allocator_(allocator) {
    block_of_slot_.raw().resize(requests.slots.size());
    place_of_slot_.raw().resize(requests.slots.size());
  }

  void start_from(const std::vector<StartSegment>& segments) {
    add_start_segments(allocator_, segments, block_of_slot_);
    for (std::size_t i = 0; i < requests_.older_count; ++i) {
      if (requests_.slots[SlotId(i)].is_free_pending) add_waiting(SlotId(i));
    }
  }

  // The first request that fails.
  std::optional<SimulatedOom> place_older(const AllocatorConfig& config) {
    for (std::size_t i = 0; i < requests_.older_count; ++i) {
      const AllocatorSlot& slot = requests_.slots[SlotId(i)];
      if (!allocate(SlotId(i))) return SimulatedOom{{}, round_request(config, slot.bytes)};
      if (slot.is_free_pending) request_free(SlotId(i));
    }
    return {};
  }

  std::optional<SimulatedOom> play(const AllocatorConfig& config) {
    for (const AllocatorStep& step : requests_.steps) {
      if (play_step(step)) continue;
      return SimulatedOom{step.entry, round_request(config, requests_.slots[SlotId(step.number)].bytes)};
    }
    return {};
  }

 private:
  bool allocate(SlotId slot_id) {
    const AllocatorSlot& slot = requests_.slots[slot_id];
    const BlockId block = allocator_.allocate(slot.bytes, slot.stream, slot.private_pool);
    forget_released();
    block_of_slot_[slot_id] = block;
    return block.has_value();
  }

  // A release has completed all frees that waited; their blocks may serve others by now.
  void forget_released() {
    if (allocator_.release_count() == seen_release_count_) return;
    seen_release_count_ = allocator_.release_count();
    for (const SlotId slot : waiting_) block_of_slot_[slot] = BlockId();
    waiting_.clear();
  }

  void request_free(SlotId slot) {
    if (!block_of_slot_[slot].has_value()) return;
    allocator_.request_free(block_of_slot_[slot]);
    add_waiting(slot);
  }

  void add_waiting(SlotId slot) {
    place_of_slot_[slot] = static_cast<std::uint32_t>(waiting_.size());
    waiting_.push_back(slot);
  }
  void remove_waiting(SlotId slot) {
    const std::uint32_t place = place_of_slot_[slot];
    if (place >= waiting_.size() || waiting_[place] != slot) return;
    waiting_[place] = waiting_.back();
    place_of_slot_[waiting_[place]] = place;
    waiting_.pop_back();
  }

  bool play_step(const AllocatorStep& step) {
    const SlotId slot(step.number);
    switch (step.kind) {
      case Kind::kAllocate:
        return allocate(slot);
      case Kind::kFree:
        free_at_once(slot);
        return true;
      case Kind::kRequestFree:
        request_free(slot);
        return true;
      case Kind::kCompleteFree:
        complete_free(slot);
        return true;
      case Kind::kFail:
        return play_failed(step);
      case Kind::kReleaseCached:
        allocator_.release_cached();
        forget_released();
        return true;
      case Kind::kLetRelease:
        allocator_.let_release(step.number);
        return true;
    }
    return true;
  }

  void free_at_once(SlotId slot) {
    const BlockId block = std::exchange(block_of_slot_[slot], BlockId());
    if (!block.has_value()) return;
    allocator_.request_free(block);
    allocator_.complete_free(block);
  }

  void complete_free(SlotId slot) {
    const BlockId block = std::exchange(block_of_slot_[slot], BlockId());
    if (!block.has_value()) return;
    allocator_.complete_free(block);
    remove_waiting(slot);
  }

  // Served now, it is kept if the recording ends here. A program that went on did so without it.
  bool play_failed(const AllocatorStep& step) {
    const SlotId slot(step.number);
    if (!allocate(slot)) return false;
    if (&step != &requests_.steps.back()) free_at_once(slot);
    return true;
  }

  const AllocatorRequests& requests_;
  CachingAllocator& allocator_;
  Column<SlotId, BlockId> block_of_slot_;
  std::vector<SlotId> waiting_;  // freed, not completed; in no order
  Column<SlotId, std::uint32_t> place_of_slot_;
  std::int64_t seen_release_count_ = 0;
};

AllocatorRun run_from_levels(const AllocatorLevels& levels, std::optional<SimulatedOom> oom) {
  AllocatorRun run;
  run.reserved_peak_bytes = levels.reserved_peak_bytes;
  run.allocated_peak_bytes = levels.allocated_peak_bytes;
  run.requested_peak_bytes = levels.requested_peak_bytes;
  run.reserved_end_bytes = levels.reserved_bytes;
  run.retries = levels.retries;
  run.cuda_malloc_count = levels.device_allocation_count;
  run.oom = oom;
  return run;
}

}  // namespace

AllocatorSimulation::AllocatorSimulation(const MemorySnapshot& snapshot, SnapshotDeviceId device)
    : recorded_config_(recorded_allocator_config(snapshot)), requests_(build_allocator_requests(snapshot, device)) {
  auto start = build_start_state(snapshot, device, recorded_config_, requests_);
  if (auto* state = std::get_if<StartState>(&start)) start_ = std::move(state->segments);
  if (start_) {
    for (const StartSegment& segment : *start_) {
      if (segment.is_expandable) continue;
      std::int64_t bytes = 0;
      for (const CachingAllocator::StartBlock& block : segment.blocks) bytes += block.bytes;
      taken_segments_.emplace_back(bytes, segment.address);
    }
  }
  start_segment_count_ = taken_segments_.size();
  for (const SnapshotEntryId entry : snapshot.devices.entries[device].ids()) {
    if (snapshot.entries.action[entry] != AllocatorAction::kSegmentAlloc) continue;
    taken_segments_.emplace_back(snapshot.entries.size_bytes[entry], snapshot.entries.address[entry]);
  }
  capacity_kind_ = find_capacity_kind(snapshot, device, recorded_config_);
}

AllocatorRun AllocatorSimulation::run(const AllocatorConfig& config, std::optional<std::int64_t> capacity_bytes) const {
  return config.caching ? run_caching(config, capacity_bytes) : run_uncached(capacity_bytes);
}

AllocatorRun AllocatorSimulation::run_caching(const AllocatorConfig& config,
                                              std::optional<std::int64_t> capacity_bytes) const {
  AllocatorLimits limits;
  if (capacity_bytes && capacity_kind_ == CapacityKind::kCap) limits.cap_bytes = *capacity_bytes;
  if (capacity_bytes && capacity_kind_ == CapacityKind::kDevice) {
    limits.device_bytes = std::min(limits.device_bytes, *capacity_bytes);
  }
  const bool from_recorded = start_ && config == recorded_config_;
  const std::span taken = taken_segments_;
  LikelyAddresses addresses(taken.subspan(from_recorded ? start_segment_count_ : 0));
  CachingAllocator allocator(config, limits, addresses);
  Player player(requests_, allocator);
  std::optional<SimulatedOom> oom;
  if (from_recorded) {
    player.start_from(*start_);
    for (const StartSegment& segment : *start_) addresses.use(segment.address);
  } else {
    oom = player.place_older(config);
  }
  if (!oom) oom = player.play(config);
  return run_from_levels(allocator.levels(), oom);
}

// Each request is a cudaMalloc of its own and each free gives back at once, waiting for the streams that use it. How
// the driver rounds is not known; blocks of 512 bytes make this the floor, not a forecast.
AllocatorRun AllocatorSimulation::run_uncached(std::optional<std::int64_t> capacity_bytes) const {
  AllocatorLevels levels;
  const std::int64_t capacity = std::min(capacity_bytes.value_or(kMostBytes), AllocatorLimits{}.device_bytes);
  const AllocatorConfig plain;
  std::vector<bool> is_live(requests_.slots.size());
  const auto take = [&](SlotId slot) {
    const std::int64_t bytes = round_request(plain, requests_.slots[slot].bytes);
    if (levels.reserved_bytes + bytes > capacity) return false;
    is_live[slot.value] = true;
    levels.reserved_bytes += bytes;
    levels.requested_bytes += std::min(requests_.slots[slot].bytes, bytes);
    levels.reserved_peak_bytes = std::max(levels.reserved_peak_bytes, levels.reserved_bytes);
    levels.requested_peak_bytes = std::max(levels.requested_peak_bytes, levels.requested_bytes);
    ++levels.device_allocation_count;
    return true;
  };
  const auto give = [&](SlotId slot) {
    if (!is_live[slot.value]) return;
    is_live[slot.value] = false;
    const std::int64_t bytes = round_request(plain, requests_.slots[slot].bytes);
    levels.reserved_bytes -= bytes;
    levels.requested_bytes -= std::min(requests_.slots[slot].bytes, bytes);
  };
  std::optional<SimulatedOom> oom;
  const auto take_or_fail = [&](SlotId slot, SnapshotEntryId entry) {
    if (!take(slot)) oom = SimulatedOom{entry, round_request(plain, requests_.slots[slot].bytes)};
  };
  for (std::size_t i = 0; i < requests_.older_count && !oom; ++i) {
    take_or_fail(SlotId(i), {});
    if (requests_.slots[SlotId(i)].is_free_pending) give(SlotId(i));
  }
  for (std::size_t i = 0; i < requests_.steps.size() && !oom; ++i) {
    const AllocatorStep& step = requests_.steps[i];
    const SlotId slot(step.number);
    if (step.kind == Kind::kAllocate || step.kind == Kind::kFail) take_or_fail(slot, step.entry);
    if (step.kind == Kind::kFail && i + 1 < requests_.steps.size() && !oom) give(slot);
    if (step.kind == Kind::kFree || step.kind == Kind::kRequestFree) give(slot);
  }
  levels.allocated_peak_bytes = levels.reserved_peak_bytes;
  return run_from_levels(levels, oom);
}

}  // namespace stepscope

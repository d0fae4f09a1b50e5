// The device of a replay: gives what was recorded, and notes when something else is asked for.
#include "memory/allocator_replay.h"

#include <deque>
#include <set>

namespace stepscope {
namespace {

std::string address_text(std::uint64_t address) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do {
    text.insert(text.begin(), kDigits[address % 16]);
    address /= 16;
  } while (address != 0);
  return "0x" + text;
}

// Where nothing recorded fits, so that it equals no address of a recording (the kernel's half of the address space).
constexpr std::uint64_t kInvented = 0xF000'0000'0000'0000ULL;

struct DeviceCall {
  AllocatorAction action = AllocatorAction::kSegmentAlloc;
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  bool operator==(const DeviceCall&) const = default;
};

class RecordedDevice final : public AddressSource, public AllocatorListener {
 public:
  void expect(const DeviceCall& call) { calls_.push_back(call); }
  [[nodiscard]] const std::deque<DeviceCall>& calls() const { return calls_; }
  // Calls that were not those expected, since the last forget().
  [[nodiscard]] std::int64_t wrong_count() const { return wrong_count_; }
  void forget() {
    calls_.clear();
    wrong_count_ = 0;
  }
  [[nodiscard]] std::int64_t matched_count() const { return matched_count_; }

  std::uint64_t place_segment(std::int64_t bytes) override {
    const bool fits =
        !calls_.empty() && calls_.front().action == AllocatorAction::kSegmentAlloc && calls_.front().bytes == bytes;
    return fits ? calls_.front().address : invent(bytes);
  }
  std::uint64_t place_reservation(std::int64_t bytes) override {
    const bool fits = !calls_.empty() && calls_.front().action == AllocatorAction::kSegmentMap;
    return fits ? calls_.front().address : invent(bytes);
  }
  void free_segment(std::uint64_t, std::int64_t) override {}

  void on_event(AllocatorAction action, std::uint64_t address, std::int64_t bytes, std::uint32_t,
                std::uint32_t) override {
    if (action != AllocatorAction::kSegmentAlloc && action != AllocatorAction::kSegmentMap) return;
    if (!calls_.empty() && calls_.front() == DeviceCall{action, address, bytes}) {
      calls_.pop_front();
      ++matched_count_;
    } else {
      ++wrong_count_;
    }
  }

 private:
  std::uint64_t invent(std::int64_t bytes) {
    const std::uint64_t address = kInvented + invented_;
    invented_ += static_cast<std::uint64_t>(bytes);
    return address;
  }

  std::deque<DeviceCall> calls_;
  std::uint64_t invented_ = 0;
  std::int64_t wrong_count_ = 0, matched_count_ = 0;
};

class Replayer {
 public:
  Replayer(const MemorySnapshot& snapshot, SnapshotDeviceId device, const AllocatorConfig& config,
           const AllocatorRequests& requests)
      : snapshot_(snapshot),
        entries_(snapshot.entries),
        range_(snapshot.devices.entries[device]),
        segments_(snapshot.devices.segments[device]),
        config_(config),
        requests_(requests),
        start_(build_start_state(snapshot, device, config, requests)),
        allocator_(config, AllocatorLimits{}, recorded_, &recorded_) {
    block_of_slot_.raw().resize(requests.slots.size());
    result_.block_bytes.resize(range_.size());
  }

  Replay run() {
    count_allocations();
    if (const auto* failure = std::get_if<std::string>(&start_)) {
      result_.proof.first_mismatch = *failure;
      return std::move(result_);
    }
    if (requests_.contradiction_count > 0) {
      mismatch("the recording contradicts itself in " + std::to_string(requests_.contradiction_count) +
               " entries: frees of nothing, or allocations of what is live");
    }
    const auto& start = std::get<StartState>(start_);
    result_.proof.older_estimated_count = start.estimated_count;
    add_start_segments(allocator_, start.segments, block_of_slot_);
    for (std::size_t i = 0; i < range_.size(); ++i) replay_entry(i);
    finish_releases(range_.size());
    check_end();
    result_.proof.device_call_matched = recorded_.matched_count() + released_count_;
    return std::move(result_);
  }

 private:
  [[nodiscard]] SnapshotEntryId entry_at(std::size_t i) const { return SnapshotEntryId(range_.begin + i); }
  void mismatch(std::string sentence) {
    if (result_.proof.first_mismatch.empty()) result_.proof.first_mismatch = std::move(sentence);
  }

  void count_allocations() {
    for (const SnapshotEntryId entry : range_.ids()) {
      const AllocatorAction action = entries_.action[entry];
      if (action == AllocatorAction::kAlloc) ++result_.proof.total;
      const bool is_device_call = action == AllocatorAction::kSegmentAlloc || action == AllocatorAction::kSegmentFree ||
                                  action == AllocatorAction::kSegmentMap || action == AllocatorAction::kSegmentUnmap;
      if (is_device_call) ++result_.proof.device_call_total;
    }
  }

  void replay_entry(std::size_t i) {
    const SnapshotEntryId entry = entry_at(i);
    const AllocatorAction action = entries_.action[entry];
    const CachingAllocator::Range range{entries_.address[entry], entries_.size_bytes[entry]};
    begin_retry(i);
    switch (action) {
      case AllocatorAction::kSegmentFree:
        freed_.insert(range);
        return;
      case AllocatorAction::kSegmentUnmap:
        unmapped_.insert(range);
        return;
      case AllocatorAction::kFreeCompleted:
        return complete_free(i);
      case AllocatorAction::kSegmentAlloc:
      case AllocatorAction::kSegmentMap:
        finish_releases(i);
        return recorded_.expect({action, range.first, range.second});
      case AllocatorAction::kAlloc:
        finish_releases(i);
        return allocate(i);
      case AllocatorAction::kOom:
        finish_releases(i);
        return fail(i);
      case AllocatorAction::kFreeRequested:
        finish_releases(i);
        return request_free(i);
      default:
        return;
    }
  }

  // Before the first entry of a retry: its request looks for a free block while frees still wait, and finds none. If
  // there is one it was no retry but an empty_cache before the request, which without stacks looks the same.
  void begin_retry(std::size_t i) {
    const std::uint32_t request = requests_.retry_of_entry[i];
    if (request == AllocatorRequests::kNoRetry || request == seen_retry_) return;
    seen_retry_ = request;
    is_retry_ = !has_free_block(request);
  }
  [[nodiscard]] bool is_retry(std::size_t i) const { return requests_.retry_of_entry[i] == i && is_retry_; }

  [[nodiscard]] bool has_free_block(std::size_t i) {
    return allocator_.has_free_block(entries_.size_bytes[entry_at(i)], requests_.stream_of_entry[i],
                                     requests_.pool_of_entry[i]);
  }

  // All that a run of releases gave back, at once: the real one first collects what is free, too.
  void finish_releases(std::size_t i) {
    if (freed_.empty() && unmapped_.empty()) return;
    finish_partial_growth(i);
    if (allocator_.release_these(freed_, unmapped_)) {
      released_count_ += static_cast<std::int64_t>(freed_.size() + unmapped_.size());
    } else {
      mismatch("before entry #" + std::to_string(i) +
               " memory is given back to the device that is not free in the re-simulation");
    }
    freed_.clear();
    unmapped_.clear();
  }

  // Pages mapped for a request that then found too little: they stay mapped, and free.
  void finish_partial_growth(std::size_t i) {
    for (const DeviceCall& call : std::deque<DeviceCall>(recorded_.calls())) {
      if (call.action != AllocatorAction::kSegmentMap || !allocator_.map_this({call.address, call.bytes})) {
        mismatch("before entry #" + std::to_string(i) + " the recording takes a segment that serves no request");
      }
    }
    if (recorded_.wrong_count() > 0) mismatch("before entry #" + std::to_string(i) + " pages are mapped elsewhere");
    recorded_.forget();
  }

  void allocate(std::size_t i) {
    const SnapshotEntryId entry = entry_at(i);
    const auto take = is_retry(i) ? &CachingAllocator::allocate_from_device : &CachingAllocator::allocate;
    const BlockId block =
        (allocator_.*take)(entries_.size_bytes[entry], requests_.stream_of_entry[i], requests_.pool_of_entry[i]);
    block_of_slot_[requests_.slot_of_entry[i]] = block;
    const bool is_same = block.has_value() && allocator_.address(block) == entries_.address[entry];
    if (block.has_value()) result_.block_bytes[i] = allocator_.bytes(block);
    if (is_same && recorded_.wrong_count() == 0 && recorded_.calls().empty()) {
      ++result_.proof.matched;
      return;
    }
    describe_mismatch(i, block);
    recorded_.forget();
  }

  void describe_mismatch(std::size_t i, BlockId block) {
    const SnapshotEntryId entry = entry_at(i);
    const std::int64_t bytes = entries_.size_bytes[entry];
    std::string sentence = "entry #" + std::to_string(i) + " asks for " + std::to_string(bytes) + " bytes and got " +
                           address_text(entries_.address[entry]);
    if (!recorded_.calls().empty()) {
      sentence += " after " + std::to_string(recorded_.calls().front().bytes) + " bytes were taken from the device";
    }
    sentence += "; the re-simulation gives ";
    if (!block.has_value()) {
      sentence += "nothing";
    } else if (allocator_.address(block) >= kInvented) {
      sentence += "a new segment of " + std::to_string(segment_bytes_for(config_, round_request(config_, bytes)));
    } else {
      sentence += address_text(allocator_.address(block));
    }
    mismatch(sentence);
  }

  void fail(std::size_t i) {
    finish_partial_growth(i);
    // Before torch 2.12 an oom does not say in which pool it was; addresses, which tell it of others, it has none.
    if (!entries_.pool[entry_at(i)].has_value() && requests_.has_private_pool()) return;
    if (is_retry(i) || !has_free_block(i)) return;  // a retry has looked before it released
    // Without stacks a free that waited, and was completed by the retry, looks like one that was completed at once.
    if (!entries_.stack[entry_at(i)].has_value()) return;
    mismatch("entry #" + std::to_string(i) + " runs out of memory for " +
             std::to_string(entries_.size_bytes[entry_at(i)]) + " bytes, for which the re-simulation has a free block");
  }

  [[nodiscard]] BlockId block_of_entry(std::size_t i) const {
    const SlotId slot = requests_.slot_of_entry[i];
    return slot.has_value() ? block_of_slot_[slot] : BlockId();
  }

  void request_free(std::size_t i) {
    const BlockId block = block_of_entry(i);
    if (!block.has_value() || allocator_.is_pending(block)) return;
    allocator_.request_free(block);
  }

  void complete_free(std::size_t i) {
    const BlockId block = block_of_entry(i);
    if (!block.has_value()) return;
    if (!allocator_.is_pending(block)) allocator_.request_free(block);
    allocator_.complete_free(block);
    block_of_slot_[requests_.slot_of_entry[i]] = BlockId();
  }

  void check_end() {
    for (std::size_t i = 0; i < requests_.slots.size(); ++i) {
      const std::int64_t recorded = requests_.slots[SlotId(i)].block_bytes;
      const BlockId block = block_of_slot_[SlotId(i)];
      if (recorded <= 0 || !block.has_value() || allocator_.bytes(block) == recorded) continue;
      mismatch("at the end the block at " + address_text(requests_.slots[SlotId(i)].address) + " has " +
               std::to_string(recorded) + " bytes, in the re-simulation " + std::to_string(allocator_.bytes(block)));
    }
    std::uint64_t reserved = 0;  // unsigned: hostile sums wrap
    for (const SnapshotSegmentId segment : segments_.ids()) {
      reserved += static_cast<std::uint64_t>(snapshot_.segments.total_bytes[segment]);
    }
    if (static_cast<std::uint64_t>(allocator_.levels().reserved_bytes) != reserved) {
      mismatch("at the end " + std::to_string(reserved) + " bytes are reserved, in the re-simulation " +
               std::to_string(allocator_.levels().reserved_bytes));
    }
  }

  const MemorySnapshot& snapshot_;
  const SnapshotEntries& entries_;
  IdRange<SnapshotEntryId> range_;
  IdRange<SnapshotSegmentId> segments_;
  const AllocatorConfig& config_;
  const AllocatorRequests& requests_;
  std::variant<StartState, std::string> start_;
  RecordedDevice recorded_;
  CachingAllocator allocator_;
  Column<SlotId, BlockId> block_of_slot_;
  std::set<CachingAllocator::Range> freed_, unmapped_;
  std::int64_t released_count_ = 0;
  std::uint32_t seen_retry_ = AllocatorRequests::kNoRetry;
  bool is_retry_ = false;  // of seen_retry_
  Replay result_;
};

}  // namespace

Replay replay_requests(const MemorySnapshot& snapshot, SnapshotDeviceId device, const AllocatorConfig& config,
                       const AllocatorRequests& requests) {
  return Replayer(snapshot, device, config, requests).run();
}

ReplayProof replay_recorded(const MemorySnapshot& snapshot, SnapshotDeviceId device) {
  return replay_requests(snapshot, device, recorded_allocator_config(snapshot),
                         build_allocator_requests(snapshot, device))
      .proof;
}

std::vector<std::int64_t> replay_block_sizes(const MemorySnapshot& snapshot, SnapshotDeviceId device) {
  Replay replay = replay_requests(snapshot, device, recorded_allocator_config(snapshot),
                                  build_allocator_requests(snapshot, device));
  if (!replay.proof.is_proven()) replay.block_bytes.assign(replay.block_bytes.size(), 0);
  return std::move(replay.block_bytes);
}

}  // namespace stepscope

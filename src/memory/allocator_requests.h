// What a program asked of the allocator of one device, freed from what the allocator answered.
//
// A recording names memory by address, which another setting would not give. So each allocation gets a number (a slot),
// and the history becomes steps on slots: allocate, free, complete a free. Built once and simulated under many
// settings.
//
//   alloc 0x7f00 ... free_requested 0x7f00, free_completed 0x7f00      ->  allocate 3 ... free 3
//
// What the allocator did of itself within a request (segments taken, released for a retry) is left out; calls of
// empty_cache are kept. The two are told apart by the stack, which a release within a request shares with it; without
// stacks by whether the request could not be served at the highest level ever seen. Frees that a retry completed come
// after its request, which had found nothing while they waited.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "memory/allocator_rules.h"
#include "memory/snapshot.h"

namespace stepscope {

using SlotId = Id<struct AllocatorSlotTag>;

struct AllocatorSlot {
  std::int64_t bytes = 0;  // requested; of a failed request rounded
  std::uint64_t address = 0;
  std::int64_t block_bytes = 0;  // from the segments, if it is live at the end; 0: not known
  std::uint32_t stream = 0;      // in the order of the handles
  std::uint32_t private_pool = 0;
  bool is_free_pending = false;  // of those older than the history: its free was requested before
};

struct AllocatorStep {
  enum class Kind : std::uint8_t {
    kAllocate,
    kFree,  // requested and completed at once, as nearly all are
    kRequestFree,
    kCompleteFree,
    kFail,           // an allocation that failed in the recording
    kReleaseCached,  // the program's empty_cache
    kLetRelease,     // no graph uses the private pool `number` any more
  };
  Kind kind = Kind::kAllocate;
  std::uint32_t number = 0;  // slot, or private pool
  SnapshotEntryId entry;
};

struct AllocatorRequests {
  Column<SlotId, AllocatorSlot> slots;  // first those older than the history, by address
  std::size_t older_count = 0;
  std::vector<AllocatorStep> steps;
  std::vector<SlotId> slot_of_entry;  // by entry within the device; empty: no allocation's
  std::vector<std::uint32_t> stream_of_entry, pool_of_entry;
  std::vector<bool> is_own_release;  // by entry: a segment freed or unmapped within a request
  // By entry: the request (index of its alloc or oom within the device) that found nothing, waited for all streams,
  // released everything and tried again; set for what it completed and released on the way, and for itself.
  std::vector<std::uint32_t> retry_of_entry;
  static constexpr std::uint32_t kNoRetry = std::numeric_limits<std::uint32_t>::max();
  std::int64_t contradiction_count = 0;  // frees of nothing, allocations of what is live
  std::int64_t reserved_start_bytes = 0, reserved_peak_bytes = 0;
  // The recording's numbers as the allocator's: see stream_of_entry, pool_of_entry.
  [[nodiscard]] std::uint32_t stream_number(SnapshotStreamId stream) const;
  [[nodiscard]] std::uint32_t pool_number(SnapshotPoolId pool) const;
  [[nodiscard]] bool has_private_pool() const;
  std::vector<std::uint32_t> stream_numbers, pool_numbers;
};

[[nodiscard]] AllocatorRequests build_allocator_requests(const MemorySnapshot& snapshot, SnapshotDeviceId device);

}  // namespace stepscope

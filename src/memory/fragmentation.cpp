// Only the end of a history has its free pieces written down. An oom is usually that end (an observer writes the
// snapshot from within the failing call); for an earlier one nothing is said about pieces rather than something that
// may be wrong.
#include "memory/fragmentation.h"

#include <algorithm>

#include "memory/allocator_rules.h"
#include "memory/levels.h"

namespace stepscope {
namespace {

void add_piece(Fragmentation& pieces, std::int64_t bytes) {
  pieces.free_bytes = add_wrapping(pieces.free_bytes, bytes);
  pieces.largest_free_bytes = std::max(pieces.largest_free_bytes, bytes);
  ++pieces.free_piece_count;
}

template <class Visit>
void for_each_free_piece(const MemorySnapshot& snapshot, SnapshotDeviceId device, Visit&& visit) {
  for (const SnapshotSegmentId segment : snapshot.devices.segments[device].ids()) {
    for (const SnapshotBlockId block : snapshot.segments.blocks[segment].ids()) {
      if (snapshot.blocks.state[block] == BlockState::kInactive) visit(segment, snapshot.blocks.size_bytes[block]);
    }
  }
}

// Files that say nothing about pools (before torch 2.0 for segments, 2.12 for entries) mean the default one.
std::pair<std::int64_t, std::int64_t> pool_key(const MemorySnapshot& snapshot, SnapshotPoolId pool) {
  return pool.has_value() ? snapshot.pools[pool] : std::pair<std::int64_t, std::int64_t>(0, 0);
}

bool is_private(const std::pair<std::int64_t, std::int64_t>& pool) { return pool.first != 0 || pool.second != 0; }

std::int64_t stream_key(const MemorySnapshot& snapshot, SnapshotStreamId stream) {
  return stream.has_value() ? snapshot.streams[stream] : 0;
}

OomFragmentation sort_pieces(const MemorySnapshot& snapshot, SnapshotDeviceId device, SnapshotEntryId oom) {
  OomFragmentation found;
  const auto pool = pool_key(snapshot, snapshot.entries.pool[oom]);
  const std::int64_t stream = stream_key(snapshot, snapshot.entries.stream[oom]);
  const bool is_small = snapshot.entries.size_bytes[oom] <= kSmallRequestBytes;
  for_each_free_piece(snapshot, device, [&](SnapshotSegmentId segment, std::int64_t bytes) {
    const auto piece_pool = pool_key(snapshot, snapshot.segments.pool[segment]);
    if (piece_pool != pool) {
      std::int64_t& sum = is_private(piece_pool) ? found.in_other_private_pools_bytes : found.in_default_pool_bytes;
      sum = add_wrapping(sum, bytes);
    } else if (stream_key(snapshot, snapshot.segments.stream[segment]) != stream) {
      found.on_other_streams_bytes = add_wrapping(found.on_other_streams_bytes, bytes);
    } else if ((snapshot.segments.is_small[segment] != 0) != is_small) {
      found.in_other_size_class_bytes = add_wrapping(found.in_other_size_class_bytes, bytes);
    } else {
      add_piece(found.usable, bytes);
    }
  });
  return found;
}

bool moves_memory(AllocatorAction action) {
  switch (action) {
    case AllocatorAction::kAlloc:
    case AllocatorAction::kFreeRequested:
    case AllocatorAction::kFreeCompleted:
    case AllocatorAction::kSegmentAlloc:
    case AllocatorAction::kSegmentFree:
    case AllocatorAction::kSegmentMap:
    case AllocatorAction::kSegmentUnmap:
      return true;
    default:
      return false;
  }
}

}  // namespace

void measure_fragmentation(const MemorySnapshot& snapshot, DeviceMemoryFacts& device) {
  for_each_free_piece(snapshot, device.device, [&](SnapshotSegmentId segment, std::int64_t bytes) {
    add_piece(device.fragmentation, bytes);
    if (is_private(pool_key(snapshot, snapshot.segments.pool[segment]))) {
      device.free_in_private_pools_bytes = add_wrapping(device.free_in_private_pools_bytes, bytes);
    }
  });
}

std::vector<OomFacts> find_ooms(const MemorySnapshot& snapshot, SnapshotDeviceId device,
                                const std::vector<std::int64_t>& reserved, const std::vector<std::int64_t>& allocated) {
  const IdRange<SnapshotEntryId> entries = snapshot.devices.entries[device];
  const AllocatorConfig config = recorded_allocator_config(snapshot);
  std::vector<OomFacts> ooms;
  std::uint32_t last_move = entries.begin;  // one behind the last entry that moved memory
  for (const SnapshotEntryId entry : entries.ids()) {
    const AllocatorAction action = snapshot.entries.action[entry];
    if (moves_memory(action)) last_move = entry.value + 1;
    if (action != AllocatorAction::kOom) continue;
    OomFacts oom;
    oom.entry = entry;
    oom.request_bytes = snapshot.entries.size_bytes[entry];
    if (const std::uint64_t free_bytes = snapshot.entries.address[entry]; free_bytes != kUnknownFreeBytes) {
      oom.device_free_bytes = static_cast<std::int64_t>(free_bytes & ~(std::uint64_t{1} << 63));
      const std::int64_t asked_bytes = segment_bytes_for(config, round_request(config, oom.request_bytes));
      oom.is_refused_by_cap = oom.device_free_bytes.value() >= asked_bytes;
    }
    const std::size_t moment = moment_after(snapshot, device, entry);
    oom.reserved_bytes = reserved[moment];
    oom.allocated_bytes = allocated[moment];
    ooms.push_back(oom);
  }
  if (snapshot.devices.segments[device].empty()) return ooms;
  for (OomFacts& oom : ooms) {
    if (oom.entry.value < last_move) continue;
    oom.fragmentation = sort_pieces(snapshot, device, oom.entry);
    const Fragmentation& usable = oom.fragmentation->usable;
    oom.is_fragmentation = usable.free_bytes >= oom.request_bytes && usable.largest_free_bytes < oom.request_bytes;
  }
  return ooms;
}

}  // namespace stepscope

// One device after the other. Free events become a request and its completion, since a trace knows one moment of a
// free.
#include "memory/trace_snapshot.h"

#include <algorithm>
#include <limits>
#include <map>

#include "memory/levels.h"
#include "memory/trace_stacks.h"

namespace stepscope {
namespace {

constexpr std::int32_t kCpu = 0;
// No machine has so many; a damaged file must not cost a table for each number in it.
constexpr std::size_t kMostDevices = 256;
// Above what any device has: the segment whose only meaning is its size.
constexpr std::uint64_t kSegmentAddress = std::uint64_t{1} << 62;

bool is_of_gpu(const MemoryEvents& events, MemoryEventId id) {
  return events.device_type[id] != kCpu && events.device_number[id] >= 0;
}

std::int64_t magnitude(std::int64_t bytes) {
  if (bytes >= 0) return bytes;
  return bytes == std::numeric_limits<std::int64_t>::min() ? std::numeric_limits<std::int64_t>::max() : -bytes;
}

// Stacks of allocations, by row of memory_events; found thread by thread.
std::vector<SnapshotStackId> find_stacks(const Trace& trace, MemorySnapshot& snapshot) {
  const MemoryEvents& events = trace.memory_events;
  std::vector<SnapshotStackId> stacks(events.size());
  Column<ThreadId, std::vector<MemoryEventId>> by_thread;
  by_thread.raw().resize(trace.threads.size());
  for (const MemoryEventId id : events.ids().ids()) {
    if (is_of_gpu(events, id) && events.bytes[id] != 0) by_thread[events.thread[id]].push_back(id);
  }
  TraceStacks open(trace, snapshot);
  for (std::size_t i = 0; i < by_thread.size(); ++i) {
    if (by_thread.raw()[i].empty()) continue;
    open.begin_thread(ThreadId(i));
    for (const MemoryEventId id : by_thread.raw()[i]) stacks[id.value] = open.at(events.time_ns[id]);
  }
  return stacks;
}

class DeviceMaker {
 public:
  DeviceMaker(const Trace& trace, const std::vector<SnapshotStackId>& stacks, std::int64_t number, MemorySnapshot& into)
      : trace_(trace), stacks_(stacks), number_(number), into_(into) {}

  void make(const std::vector<MemoryEventId>& events) {
    first_entry_ = static_cast<std::uint32_t>(into_.entries.size());
    for (const MemoryEventId id : events) {
      has_reserved_ |= trace_.memory_events.bytes[id] != 0 && trace_.memory_events.total_reserved_bytes[id].has_value();
    }
    find_older_limit(events);
    for (const MemoryEventId id : events) add(id);
    add_device(add_segment());
    note_dropped();
  }

 private:
  void add(MemoryEventId id) {
    const MemoryEvents& events = trace_.memory_events;
    const std::int64_t bytes = events.bytes[id];
    if (bytes == 0) return;  // a level that was read, not a change
    if (events.total_allocated_bytes[id].has_value()) allocated_ = events.total_allocated_bytes[id];
    const std::uint64_t address = address_of(id);
    const std::int64_t size = magnitude(bytes);
    if (is_of_nothing(bytes, address, size)) {
      reserve(id, events.total_reserved_bytes[id]);
      return;
    }
    if (!has_reserved_) follow_live(address, bytes);
    const MaybeInt reserved =
        has_reserved_ ? events.total_reserved_bytes[id] : MaybeInt{std::max<std::int64_t>(live_sum_, 0)};
    if (bytes > 0) {
      reserve(id, reserved);
      push(id, AllocatorAction::kAlloc, address, size);
      live_[address] = {size, stacks_[id.value]};
    } else {
      push(id, AllocatorAction::kFreeRequested, address, size);
      push(id, AllocatorAction::kFreeCompleted, address, size);
      live_.erase(address);
      reserve(id, reserved);
    }
  }

  [[nodiscard]] std::uint64_t address_of(MemoryEventId id) const {
    return static_cast<std::uint64_t>(trace_.memory_events.address[id].value_or(0));
  }

  // How much can have been held that was never seen to be allocated: by the allocator's own total less what is known to
  // be live. The most that any event allows, since totals of two threads may come in the wrong order.
  void find_older_limit(const std::vector<MemoryEventId>& events) {
    const MemoryEvents& rows = trace_.memory_events;
    std::map<std::uint64_t, std::int64_t> live;
    std::int64_t live_bytes = 0, freed_unseen_bytes = 0;
    for (const MemoryEventId id : events) {
      const std::int64_t bytes = rows.bytes[id];
      if (bytes == 0) continue;
      const auto known = live.find(address_of(id));
      if (known != live.end()) {
        live_bytes = subtract_wrapping(live_bytes, known->second);
        live.erase(known);
      } else if (bytes < 0) {
        freed_unseen_bytes = add_wrapping(freed_unseen_bytes, magnitude(bytes));
      }
      if (bytes > 0) {
        live[address_of(id)] = bytes;
        live_bytes = add_wrapping(live_bytes, bytes);
      }
      const MaybeInt total = rows.total_allocated_bytes[id];
      if (!total.has_value()) continue;
      const std::int64_t unseen = add_wrapping(subtract_wrapping(total.value(), live_bytes), freed_unseen_bytes);
      older_limit_ = std::max(older_limit_.value_or(unseen), unseen);
    }
  }

  // A free of what was never seen is a free of something older, unless the totals leave no room for that: then the
  // allocation's address was lost or changed, and as something older it would raise the level by what never was.
  [[nodiscard]] bool is_of_nothing(std::int64_t bytes, std::uint64_t address, std::int64_t size) {
    if (bytes > 0 || !older_limit_ || live_.contains(address)) return false;
    if (add_wrapping(older_freed_bytes_, size) <= *older_limit_) {
      older_freed_bytes_ = add_wrapping(older_freed_bytes_, size);
      return false;
    }
    dropped_bytes_ = add_wrapping(dropped_bytes_, size);
    ++dropped_count_;
    return true;
  }

  void note_dropped() {
    if (dropped_count_ == 0) return;
    std::string what = "frees of addresses that were never allocated, of more than can be older: left out";
    if (allocated_.has_value()) {
      what += "; " + std::to_string(allocated_.value()) + " bytes are held at the end by the trace's own total";
    }
    into_.notes.add(NoteKind::kUnmatchedRecords, NoteSeverity::kLost, 0, what, dropped_count_);
  }

  // Where the trace has no totals: what is known to be live. Older memory shows when it is freed, so it is none here.
  void follow_live(std::uint64_t address, std::int64_t bytes) {
    const auto known = live_.find(address);
    if (known != live_.end()) live_sum_ = subtract_wrapping(live_sum_, known->second.size_bytes);
    if (bytes > 0) live_sum_ = add_wrapping(live_sum_, bytes);
  }

  void reserve(MemoryEventId id, MaybeInt now) {
    if (!now.has_value() || now.value() < 0) return;
    const std::int64_t before = reserved_.value_or(reserved_before_first(id, now.value()));
    reserved_ = now;
    if (now.value() > before) {
      push(id, AllocatorAction::kSegmentMap, kSegmentAddress + static_cast<std::uint64_t>(before),
           now.value() - before);
    } else if (now.value() < before) {
      push(id, AllocatorAction::kSegmentUnmap, kSegmentAddress + static_cast<std::uint64_t>(now.value()),
           before - now.value());
    }
  }

  // A caching allocator's first event need not change what it holds. Where all that is held is allocated (calls of
  // CUDA, not an allocator), it did.
  [[nodiscard]] std::int64_t reserved_before_first(MemoryEventId id, std::int64_t now) const {
    const bool is_same = !has_reserved_ || trace_.memory_events.total_allocated_bytes[id] == MaybeInt{now};
    return is_same ? std::max<std::int64_t>(subtract_wrapping(now, trace_.memory_events.bytes[id]), 0) : now;
  }

  void push(MemoryEventId id, AllocatorAction action, std::uint64_t address, std::int64_t size) {
    SnapshotEntries::Row row;
    row.action = action;
    row.category = MemoryCategory::kUnknown;
    row.address = address;
    row.size_bytes = size;
    row.time_us = add_wrapping(trace_.info.base_ns, trace_.memory_events.time_ns[id]) / 1000;
    row.stack = stacks_[id.value];
    into_.entries.push_back(row);
  }

  void add_block(std::uint64_t address, std::int64_t size, BlockState state, SnapshotStackId stack) {
    SnapshotBlocks::Row row;
    row.address = address;
    row.size_bytes = size;
    if (state != BlockState::kInactive) row.requested_bytes = size;
    row.state = state;
    row.stack = stack;
    into_.blocks.push_back(row);
  }

  // What is held at the end. Blocks keep their own addresses, though the segment has a made-up one.
  IdRange<SnapshotSegmentId> add_segment() {
    SnapshotSegments::Row row;
    row.device = SnapshotDeviceId(into_.devices.size());
    row.address = kSegmentAddress;
    row.is_expandable = 1;
    row.blocks.begin = static_cast<std::uint32_t>(into_.blocks.size());
    std::int64_t live_bytes = 0;
    for (const auto& [address, live] : live_) {
      add_block(address, live.size_bytes, BlockState::kActiveAllocated, live.stack);
      live_bytes = add_wrapping(live_bytes, live.size_bytes);
    }
    // The allocator's total holds more: allocated before the trace began and never freed in it.
    const std::int64_t held = add_wrapping(allocated_.value_or(0), dropped_bytes_);
    const std::int64_t older = allocated_.has_value() ? subtract_wrapping(held, live_bytes) : 0;
    if (older > 0) {
      add_block(kSegmentAddress, older, BlockState::kActiveAllocated, {});
      into_.blocks.is_sum.raw().back() = 1;
    }
    row.allocated_bytes = row.active_bytes = add_wrapping(live_bytes, std::max<std::int64_t>(older, 0));
    row.total_bytes = std::max(reserved_.value_or(row.active_bytes), row.active_bytes);
    row.requested_bytes = row.active_bytes;
    const std::int64_t free = subtract_wrapping(row.total_bytes, row.active_bytes);  // of damaged numbers anything
    if (free > 0) {
      add_block(kSegmentAddress + static_cast<std::uint64_t>(std::max<std::int64_t>(older, 0)), free,
                BlockState::kInactive, {});
    }
    row.blocks.end = static_cast<std::uint32_t>(into_.blocks.size());
    const SnapshotSegmentId added = into_.segments.push_back(row);
    return {added.value, added.value + 1};
  }

  void add_device(IdRange<SnapshotSegmentId> segments) {
    SnapshotDevices::Row row;
    row.number = number_;
    row.entries = {first_entry_, static_cast<std::uint32_t>(into_.entries.size())};
    row.segments = segments;
    into_.devices.push_back(row);
  }

  struct Live {
    std::int64_t size_bytes;
    SnapshotStackId stack;
  };
  const Trace& trace_;
  const std::vector<SnapshotStackId>& stacks_;
  const std::int64_t number_;
  MemorySnapshot& into_;
  std::uint32_t first_entry_ = 0;
  bool has_reserved_ = false;
  MaybeInt reserved_, allocated_;
  std::int64_t live_sum_ = 0;
  std::optional<std::int64_t> older_limit_;  // missing without totals
  std::int64_t older_freed_bytes_ = 0, dropped_bytes_ = 0;
  std::uint64_t dropped_count_ = 0;
  std::map<std::uint64_t, Live> live_;
};

void add_annotations(const Trace& trace, MemorySnapshot& snapshot) {
  struct Mark {
    TimeNs time_ns;
    bool is_start;
    StringId name;
  };
  std::vector<Mark> marks;
  marks.reserve(2 * trace.spans.size());
  for (const SpanId id : trace.spans.ids().ids()) {
    std::string name(trace.text(trace.spans.name[id]));
    const MaybeInt step = trace.spans.step_number[id];
    if (step.has_value() && !name.starts_with("ProfilerStep#")) name.append("#").append(std::to_string(step.value()));
    const StringId copied = snapshot.strings.intern(name);
    marks.push_back({trace.spans.start_ns[id], true, copied});
    marks.push_back({std::max(trace.spans.end_ns[id], trace.spans.start_ns[id] + 1), false, copied});
  }
  std::stable_sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.is_start < b.is_start;
  });
  for (const Mark& mark : marks) {
    SnapshotAnnotations::Row row;
    row.name = mark.name;
    row.is_start = mark.is_start ? 1 : 0;
    row.device_number = -1;
    row.time_us = add_wrapping(trace.info.base_ns, mark.time_ns) / 1000;
    snapshot.annotations.push_back(row);
  }
}

}  // namespace

Result<MemorySnapshot> snapshot_from_trace(const Trace& trace) {
  const MemoryEvents& events = trace.memory_events;
  std::map<std::int64_t, std::vector<MemoryEventId>> by_device;
  bool has_change = false;
  for (const MemoryEventId id : events.ids().ids()) {
    if (!is_of_gpu(events, id)) continue;
    const std::int64_t number = events.device_number[id];
    if (by_device.size() == kMostDevices && !by_device.contains(number)) continue;
    by_device[number].push_back(id);
    has_change |= events.bytes[id] != 0;
  }
  if (!has_change) {
    return Error{ErrorCode::kNotFound,
                 events.empty() ? "the trace has no memory events" : "the trace has no allocation on a GPU",
                 trace.info.source};
  }
  MemorySnapshot snapshot;
  const std::vector<SnapshotStackId> stacks = find_stacks(trace, snapshot);
  for (const auto& [number, ids] : by_device) DeviceMaker(trace, stacks, number, snapshot).make(ids);
  add_annotations(trace, snapshot);
  snapshot.info.source = trace.info.source;
  snapshot.info.format = kTraceSnapshotFormat;
  snapshot.info.byte_count = trace.info.text_bytes;
  snapshot.info.has_history = snapshot.info.has_device_traces = true;
  return snapshot;
}

}  // namespace stepscope

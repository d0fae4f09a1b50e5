// One function a table; columns of allocations are shared by "all" and "live at a moment".
#include <array>

#include "memory/grouping.h"
#include "python/memory_recording.h"

namespace stepscope::python {
namespace {

std::int64_t or_missing(MaybeInt value) { return value.has_value() ? value.value() : kMissing; }
std::int64_t or_missing(const std::optional<std::int64_t>& value) { return value.value_or(kMissing); }

std::string join_stack(const MemorySnapshot& snapshot, SnapshotStackId stack) {
  std::string joined;
  for (const SnapshotFrameId frame : snapshot.frames_of(stack)) {
    if (!joined.empty()) joined += '\n';
    joined += describe_frame(snapshot, frame);
  }
  return joined;
}

template <class IdType>
std::vector<IdType> list_of(IdRange<IdType> range) {
  std::vector<IdType> ids;
  ids.reserve(range.size());
  for (const IdType id : range.ids()) ids.push_back(id);
  return ids;
}

std::string_view source_name(CategorySource source) {
  constexpr std::array<std::string_view, 4> kNames = {"", "recorded", "address map", "inferred"};
  return kNames[static_cast<std::size_t>(source)];
}

std::string_view state_name(BlockState state) {
  constexpr std::array<std::string_view, 3> kNames = {"inactive", "active_allocated", "active_pending_free"};
  return kNames[static_cast<std::size_t>(state)];
}

std::int64_t as_number(std::uint64_t address) { return static_cast<std::int64_t>(address); }

}  // namespace

std::int64_t MemoryRecording::event_of(SnapshotDeviceId device, SnapshotEntryId entry) const {
  return entry.has_value() ? std::int64_t{entry.value} - std::int64_t{snapshot_.devices.entries[device].begin}
                           : kMissing;
}

std::int64_t MemoryRecording::time_of(SnapshotEntryId entry) const {
  return entry.has_value() ? or_missing(snapshot_.entries.time_us[entry]) : kMissing;
}

std::int64_t MemoryRecording::stream_of(SnapshotStreamId stream) const {
  return stream.has_value() ? snapshot_.streams[stream] : kMissing;
}

const MemoryRecording::Texts& MemoryRecording::texts() const {
  std::call_once(texts_made_, [this] {
    Words stacks, lines;
    for (const SnapshotStackId stack : snapshot_.stacks.ids().ids()) {
      texts_.word_of_stack.push_back(stacks.find(join_stack(snapshot_, stack)));
      const SnapshotFrameId frame = find_user_frame(snapshot_, stack);
      texts_.line_of_stack.push_back(frame.has_value() ? lines.find(describe_frame(snapshot_, frame)) : 0);
    }
    texts_.stacks = stacks.column();
    texts_.lines = lines.column();
  });
  return texts_;
}

TablePointer MemoryRecording::events(SnapshotDeviceId device) const {
  const SnapshotEntries& entries = snapshot_.entries;
  const std::vector<SnapshotEntryId> rows = list_of(snapshot_.devices.entries[device]);
  const Texts& words = texts();
  TableMaker table;
  table.numbers_of("event", "number of the entry within the device, from 0", rows,
                   [&](SnapshotEntryId id) { return event_of(device, id); });
  table.texts_of("action", "as the snapshot spells it", rows,
                 [&](SnapshotEntryId id) { return allocator_action_name(entries.action[id]); });
  table.numbers_of("time_us", "us since 1970; null before torch 2.1", rows,
                   [&](SnapshotEntryId id) { return time_of(id); });
  table.numbers_of("address", "start; of an oom the device's free bytes", rows,
                   [&](SnapshotEntryId id) { return as_number(entries.address[id]); });
  table.numbers_of("bytes", "requested; of an oom rounded", rows,
                   [&](SnapshotEntryId id) { return entries.size_bytes[id]; });
  table.numbers_of("stream", "the handle as written, 0 the default stream; null if absent", rows,
                   [&](SnapshotEntryId id) { return stream_of(entries.stream[id]); });
  table.words_of("line", "the user's line; empty if not recorded", rows, words.lines,
                 [&](SnapshotEntryId id) { return words.line_word(entries.stack[id]); });
  table.words_of("stack", "frames, innermost first, a line each; empty if not recorded", rows, words.stacks,
                 [&](SnapshotEntryId id) { return words.stack_word(entries.stack[id]); });
  return table.take();
}

TablePointer MemoryRecording::segments(SnapshotDeviceId device) const {
  const SnapshotSegments& segments = snapshot_.segments;
  const std::vector<SnapshotSegmentId> rows = list_of(snapshot_.devices.segments[device]);
  TableMaker table;
  const auto number = [&](const char* name, const char* doc, auto get) { table.numbers_of(name, doc, rows, get); };
  number("address", "start", [&](SnapshotSegmentId id) { return as_number(segments.address[id]); });
  number("total_bytes", "taken from the device", [&](SnapshotSegmentId id) { return segments.total_bytes[id]; });
  number("allocated_bytes", "of it in live blocks", [&](SnapshotSegmentId id) { return segments.allocated_bytes[id]; });
  number("active_bytes", "allocated, and blocks whose free is pending",
         [&](SnapshotSegmentId id) { return segments.active_bytes[id]; });
  number("requested_bytes", "null in old files",
         [&](SnapshotSegmentId id) { return or_missing(segments.requested_bytes[id]); });
  number("stream", "the handle as written; null if absent",
         [&](SnapshotSegmentId id) { return stream_of(segments.stream[id]); });
  number("is_private_pool", "1: of a CUDA graph or a memory pool of the program", [&](SnapshotSegmentId id) {
    const SnapshotPoolId pool = segments.pool[id];
    return pool.has_value() && snapshot_.pools[pool] != std::pair<std::int64_t, std::int64_t>() ? 1 : 0;
  });
  number("is_small", "1: for requests of up to 1 MiB", [&](SnapshotSegmentId id) { return segments.is_small[id]; });
  number("is_expandable", "1: a mapped range of an expandable segment",
         [&](SnapshotSegmentId id) { return segments.is_expandable[id]; });
  number("block_count", "blocks(), free ones too",
         [&](SnapshotSegmentId id) { return static_cast<std::int64_t>(segments.blocks[id].size()); });
  return table.take();
}

TablePointer MemoryRecording::blocks(SnapshotDeviceId device) const {
  const SnapshotBlocks& blocks = snapshot_.blocks;
  std::vector<SnapshotBlockId> rows;
  std::vector<std::int64_t> segments;
  for (const SnapshotSegmentId segment : snapshot_.devices.segments[device].ids()) {
    for (const SnapshotBlockId block : snapshot_.segments.blocks[segment].ids()) {
      rows.push_back(block);
      segments.push_back(as_number(snapshot_.segments.address[segment]));
    }
  }
  const Texts& words = texts();
  TableMaker table;
  table.numbers("segment", "address of its segment", std::move(segments));
  table.numbers_of("address", "start", rows, [&](SnapshotBlockId id) { return as_number(blocks.address[id]); });
  table.numbers_of("size_bytes", "rounded", rows, [&](SnapshotBlockId id) { return blocks.size_bytes[id]; });
  table.numbers_of("requested_bytes", "null in old files, 0 when inactive", rows,
                   [&](SnapshotBlockId id) { return or_missing(blocks.requested_bytes[id]); });
  table.texts_of("state", "inactive (free), active_allocated, active_pending_free", rows,
                 [&](SnapshotBlockId id) { return state_name(blocks.state[id]); });
  table.words_of("line", "the user's line; empty if not recorded", rows, words.lines,
                 [&](SnapshotBlockId id) { return words.line_word(blocks.stack[id]); });
  return table.take();
}

TablePointer MemoryRecording::levels(SnapshotDeviceId device) const {
  const std::vector<SnapshotEntryId> entries = list_of(snapshot_.devices.entries[device]);
  std::vector<std::int64_t> events = {kMissing}, times = {kMissing};
  for (const SnapshotEntryId entry : entries) {
    events.push_back(event_of(device, entry));
    times.push_back(time_of(entry));
  }
  TableMaker table;
  table.numbers("event", "the level after this event; null: before all", std::move(events));
  table.numbers("time_us", "us since 1970", std::move(times));
  using Kind = MemoryLevelKind;
  const auto level = [&](const char* name, const char* doc, Kind kind) {
    table.numbers(name, doc, compute_level(snapshot_, facts_, device, kind));
  };
  level("requested_bytes", "asked for, until the free completes", Kind::kRequested);
  level("allocated_bytes", "rounded, until the free is requested: torch's memory_allocated()", Kind::kAllocated);
  level("active_bytes", "rounded, until the free completes", Kind::kActive);
  level("reserved_bytes", "held from the device: torch's memory_reserved()", Kind::kReserved);
  return table.take();
}

TablePointer MemoryRecording::allocations(SnapshotDeviceId device) const {
  return allocations_of(device, list_of(facts_.devices[device].allocations));
}

TablePointer MemoryRecording::live(SnapshotDeviceId device, std::size_t moment) const {
  return allocations_of(device, find_live(snapshot_, facts_, device, moment));
}

TablePointer MemoryRecording::allocations_of(SnapshotDeviceId device, const std::vector<AllocationId>& rows) const {
  const Allocations& all = facts_.allocations;
  const Texts& words = texts();
  AllocationGroups groups(snapshot_, facts_, LiveGrouping::kLine);
  Words line_words;
  std::vector<std::uint32_t> word_of_group, lines;
  lines.reserve(rows.size());
  for (const AllocationId id : rows) {
    const std::uint32_t group = groups.find(id);
    while (word_of_group.size() <= group) {
      word_of_group.push_back(line_words.find(groups.name(static_cast<std::uint32_t>(word_of_group.size()))));
    }
    lines.push_back(word_of_group[group]);
  }

  TableMaker table;
  const auto number = [&](const char* name, const char* doc, auto get) { table.numbers_of(name, doc, rows, get); };
  number("address", "start", [&](AllocationId id) { return as_number(all.address[id]); });
  number("requested_bytes", "as asked for", [&](AllocationId id) { return all.requested_bytes[id]; });
  number("size_bytes", "its block", [&](AllocationId id) { return all.size_bytes[id]; });
  number("alloc_event", "null: older than the history",
         [&](AllocationId id) { return event_of(device, all.alloc_entry[id]); });
  number("free_requested_event", "null: not requested within the history",
         [&](AllocationId id) { return event_of(device, all.free_requested_entry[id]); });
  number("free_completed_event", "null: still held at the end",
         [&](AllocationId id) { return event_of(device, all.free_completed_entry[id]); });
  number("alloc_time_us", "us since 1970", [&](AllocationId id) { return time_of(all.alloc_entry[id]); });
  number("free_time_us", "us since 1970, when the free completed",
         [&](AllocationId id) { return time_of(all.free_completed_entry[id]); });
  table.words("line", "the user's line, or a phrase where none is recorded", std::move(lines), line_words.column());
  table.words_of("stack", "frames, innermost first, a line each; empty if not recorded", rows, words.stacks,
                 [&](AllocationId id) { return words.stack_word(all.stack[id]); });
  table.texts_of("category", "parameter, gradient, activation, ...", rows,
                 [&](AllocationId id) { return memory_category_name(all.category[id]); });
  table.texts_of("category_source", "recorded, address map (exact), inferred; empty: unknown", rows,
                 [&](AllocationId id) { return source_name(all.category_source[id]); });
  table.texts_of("span", "innermost annotation open at the allocation; empty: none", rows, [&](AllocationId id) {
    return all.span[id].has_value() ? snapshot_.text(snapshot_.annotations.name[all.span[id]]) : std::string_view();
  });
  number("stream", "the handle as written; null if absent", [&](AllocationId id) { return stream_of(all.stream[id]); });
  number("is_sum", "1: of a trace, all that was held before it and throughout; only the sum is known",
         [&](AllocationId id) { return std::int64_t{all.is_sum[id]}; });
  return table.take();
}

TablePointer MemoryRecording::steps(SnapshotDeviceId device) const {
  const MemorySteps& steps = facts_.steps[device];
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i + 1 < steps.moments.size(); ++i) rows.push_back(i);
  TableMaker table;
  table.numbers_of("step", "as its annotation says, else counted from 0", rows,
                   [&](std::size_t i) { return steps.numbers[i]; });
  table.numbers_of("begin_event", "entries before it", rows,
                   [&](std::size_t i) { return static_cast<std::int64_t>(steps.moments[i]); });
  table.numbers_of("peak_bytes", "of the allocated level", rows, [&](std::size_t i) { return steps.peak_bytes[i]; });
  table.numbers_of("peak_event", "null: at its begin", rows,
                   [&](std::size_t i) { return event_of(device, steps.peak_entry[i]); });
  return table.take();
}

TablePointer groups_table(const std::vector<LiveGroup>& groups) {
  TableMaker table;
  table.texts_of("name", "the group", groups, [](const LiveGroup& group) { return std::string_view(group.name); });
  table.numbers_of("bytes", "requested", groups, [](const LiveGroup& group) { return group.bytes; });
  table.numbers_of("count", "allocations; null: a trace tells only the sum of some of the bytes", groups,
                   [](const LiveGroup& group) { return group.count.value_or(kMissing); });
  return table.take();
}

TablePointer differences_table(const MemoryDiffReport& diff) {
  using Row = MemoryDiffRow;
  TableMaker table;
  table.texts_of("name", "the group", diff.rows, [](const Row& row) { return std::string_view(row.line); });
  table.numbers_of("difference_bytes", "after less before; the rows sum to the whole difference", diff.rows,
                   [](const Row& row) { return row.difference_bytes(); });
  table.numbers_of("before_bytes", "requested", diff.rows, [](const Row& row) { return row.before_bytes; });
  table.numbers_of("after_bytes", "requested", diff.rows, [](const Row& row) { return row.after_bytes; });
  table.numbers_of("before_count", "allocations; null: not known", diff.rows,
                   [](const Row& row) { return row.before_count.value_or(kMissing); });
  table.numbers_of("after_count", "allocations; null: not known", diff.rows,
                   [](const Row& row) { return row.after_count.value_or(kMissing); });
  return table.take();
}

TablePointer what_ifs_table(const MemoryWhatIfReport& what_ifs) {
  using Row = MemoryWhatIfRow;
  const auto& rows = what_ifs.rows;
  TableMaker table;
  table.texts_of("settings", "of PYTORCH_CUDA_ALLOC_CONF; no_caching: PYTORCH_NO_CUDA_MEMORY_CACHING=1", rows,
                 [](const Row& row) { return std::string_view(row.settings); });
  const auto run = [&](const char* name, const char* doc, std::int64_t AllocatorRun::*member) {
    table.numbers_of(name, doc, rows,
                     [member](const Row& row) { return row.result ? row.result->run.*member : kMissing; });
  };
  run("reserved_peak_bytes", "up to the failure, if it fails", &AllocatorRun::reserved_peak_bytes);
  run("allocated_peak_bytes", "up to the failure, if it fails", &AllocatorRun::allocated_peak_bytes);
  run("reserved_end_bytes", "", &AllocatorRun::reserved_end_bytes);
  run("retries", "times that the device refused and the cache was released", &AllocatorRun::retries);
  run("cuda_malloc_count", "calls of the device", &AllocatorRun::cuda_malloc_count);
  table.numbers_of("is_oom", "1: a request fails, 0: all are served", rows, [](const Row& row) {
    return row.result ? std::int64_t{row.result->run.oom.has_value()} : kMissing;
  });
  table.numbers_of("oom_event", "the first whose request fails; null: none, or older than the history", rows,
                   [](const Row& row) {
                     const bool is_known = row.result && row.result->run.oom && row.result->run.oom->entry.has_value();
                     return is_known && row.oom_event ? static_cast<std::int64_t>(*row.oom_event) : kMissing;
                   });
  table.numbers_of("least_capacity_bytes", "under which all are served; null: not computed, or none would do", rows,
                   [](const Row& row) { return row.result ? or_missing(row.result->least_capacity_bytes) : kMissing; });
  return table.take();
}

}  // namespace stepscope::python

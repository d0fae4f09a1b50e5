// The end of reading: what the outermost object means, and the rows in their final order.
//
// Ordinary files list everything once and in order, and then the entries stay where they are. Where a list repeats rows
// or mixes others in, rows are copied in the order of the lists; a file that names the same rows so often that they
// would outgrow it is refused.
#include <algorithm>
#include <charconv>
#include <numeric>

#include "memory/snapshot_tree.h"

namespace stepscope::snapshot_reading {

namespace {

Error not_a_snapshot(std::string_view what) {
  return {.code = ErrorCode::kUnknownFormat, .message = "not a memory snapshot: " + std::string(what), .file = {}};
}

Error too_many_rows() {
  return {.code = ErrorCode::kDamaged,
          .message = "the file names the same rows over and over; it is no snapshot",
          .file = {}};
}

// Rows that are named twice count twice. False: the sum would exceed what sizes may be together.
bool add_bytes(std::int64_t& total, std::int64_t bytes) {
  if (bytes > kMostBytesTogether - total) return false;
  total += bytes;
  return true;
}

// A kind of a newer version is a loss all the same.
NoteKind note_kind_of(std::string_view name) {
  for (std::size_t i = 0; i < kNoteKindCount; ++i) {
    if (note_kind_name(static_cast<NoteKind>(i)) == name) return static_cast<NoteKind>(i);
  }
  return NoteKind::kDamagedEvent;
}

template <class Table>
void truncate(Table& table, std::size_t rows) {
  Table::for_each_member([&](auto member) { (table.*member).raw().resize(rows); });
}

}  // namespace

// ---------------------------------------------------------------------------------------------- walking final values

std::uint64_t SnapshotTree::count_items(Value list) const {
  if (list.is(ValueKind::kRun)) return kept_[list.payload() + 1].payload();
  if (list.is(ValueKind::kList)) return kept_[list.payload()].payload();
  if (list.is(ValueKind::kPair)) return 2;
  return list.is(ValueKind::kStack) ? out_.frames_of(SnapshotStackId(list.index())).size() : 0;
}

// visit(item); the items of a stack or a pair are of no use where this is called, and come as kNone.
template <class Visit>
void SnapshotTree::for_each_item(Value list, Visit&& visit) const {
  const std::uint64_t count = count_items(list);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (list.is(ValueKind::kRun)) {
      const Value first = kept_[list.payload()];
      visit(Value(first.kind(), first.payload() + i));
    } else {
      visit(list.is(ValueKind::kList) ? kept_[list.payload() + 1 + i] : Value(ValueKind::kNone));
    }
  }
}

template <class Visit>
void SnapshotTree::for_each_key(Value dict, Visit&& visit) const {
  if (!dict.is(ValueKind::kDict)) return;
  const std::uint64_t count = kept_[dict.payload()].payload();
  for (std::uint64_t i = 0; i + 1 < count; i += 2) {
    visit(kept_[dict.payload() + 1 + i], kept_[dict.payload() + 2 + i]);
  }
}

// -------------------------------------------------------------------------------------------------------- the top

Status SnapshotTree::finish(Value top, std::uint64_t byte_count) {
  byte_count_ = byte_count;
  if (auto read = read_top(complete(top)); !read) return read;
  number_devices();
  if (auto gathered = gather_entries(); !gathered) return gathered;
  if (auto gathered = gather_segments(); !gathered) return gathered;
  gather_marks();
  mark_cut_histories();
  write_counted_notes();
  if (losses_.lost_anything()) add_losses();
  return Done{};
}

Status SnapshotTree::read_top(Value top) {
  if (top.is(ValueKind::kRun) || top.is(ValueKind::kList) || top.is(ValueKind::kNoItems)) {
    bool has_segment = top.is(ValueKind::kNoItems);
    for_each_item(top, [&](Value item) { has_segment |= item.is(ValueKind::kSegment); });
    if (!has_segment) return not_a_snapshot("a list, and none of its items is a segment");
    segment_list_ = top;
    return Done{};
  }
  if (!top.is(ValueKind::kDict) && !top.is(ValueKind::kNoKeys)) {
    return not_a_snapshot("the outermost object is neither a dict with segments nor a list of them");
  }
  bool has_segments = false;
  for_each_key(top, [&](Value key, Value value) {
    switch (key.is(ValueKind::kText) ? word_of(StringId{key.index()}) : Word::kUnknown) {
      case Word::kSegments:
        has_segments = true;
        segment_list_ = value;
        break;
      case Word::kDeviceTraces:
        out_.info.has_device_traces = true;
        trace_lists_ = value;
        break;
      case Word::kAllocatorSettings:
        read_settings(value);
        break;
      case Word::kExternalAnnotations:
        mark_list_ = value;
        break;
      case Word::kHostSegments:
        out_.info.host_segment_count = count_items(value);
        break;
      case Word::kHostTraces:
        count_host(value);
        break;
      case Word::kMaxEntries:
        if (const auto number = int_of(value)) out_.info.trace_alloc_max_entries = *number;
        break;
      case Word::kOverflowed:
        overflowed_ = value;
        break;
      case Word::kLosses:
        read_losses(value);
        break;
      default:
        note_unknown_key(key);
    }
  });
  if (!has_segments && !out_.info.has_device_traces) {
    return not_a_snapshot("a dict without segments and device_traces");
  }
  return Done{};
}

void SnapshotTree::count_host(Value host_traces) {
  std::size_t count = 0;
  for_each_item(host_traces, [&](Value item) { count += item.is(ValueKind::kEntry) ? 1 : count_items(item); });
  out_.info.host_entry_count = count;
}

// What the file that this one was made of had lost (snapshot_writer.cpp).
void SnapshotTree::read_losses(Value losses) {
  for_each_item(losses, [&](Value loss) {
    std::string_view kind, example;
    std::int64_t count = 0, first_offset = 0;
    for_each_key(loss, [&](Value key, Value value) {
      const Word word = key.is(ValueKind::kText) ? word_of(StringId{key.index()}) : Word::kUnknown;
      if (word == Word::kKind) kind = text_of(value);
      if (word == Word::kExample) example = text_of(value);
      if (word == Word::kCount) count = int_of(value).value_or(0);
      if (word == Word::kFirstOffset) first_offset = int_of(value).value_or(0);
    });
    losses_.add(note_kind_of(kind), NoteSeverity::kLost,
                static_cast<std::uint64_t>(std::max<std::int64_t>(first_offset, 0)), example,
                static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1)));
  });
}

// Some of what was lost can be seen again in what was written (blocks that do not fill their segment); it is counted in
// the file's own words already.
void SnapshotTree::add_losses() {
  Notes all = losses_;
  for (const Note& note : out_.notes.all()) {
    if (note.severity == NoteSeverity::kLost && losses_.count(note.kind) > 0) continue;
    all.add(note.kind, note.severity, note.first_offset, note.example, note.count);
  }
  out_.notes = std::move(all);
}

std::string SnapshotTree::scalar_text(Value value) const {
  switch (value.kind()) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kFalse:
      return "False";
    case ValueKind::kTrue:
      return "True";
    case ValueKind::kText:
      return std::string(text_of(value));
    case ValueKind::kReal: {
      std::array<char, 32> text{};
      const auto end = std::to_chars(text.data(), text.data() + text.size(), reals_[value.payload()]).ptr;
      return {text.data(), end};
    }
    case ValueKind::kBigInt: {
      const BigInt& big = big_ints_[value.payload()];
      return big.is_beyond ? "over 64 bits" : (big.is_negative ? "-" : "") + std::to_string(big.magnitude);
    }
    default:
      return std::to_string(int_of(value).value_or(0));
  }
}

void SnapshotTree::read_settings(Value value) {
  SnapshotSettings& settings = out_.settings;
  settings.is_recorded = value.is(ValueKind::kDict) || value.is(ValueKind::kNoKeys);
  for_each_key(value, [&](Value key, Value set) {
    switch (key.is(ValueKind::kText) ? word_of(StringId{key.index()}) : Word::kUnknown) {
      case Word::kCudaAllocConf:
      case Word::kAllocConf:
      case Word::kHipAllocConf:
        if (!text_of(set).empty()) settings.conf = text_of(set);
        return;
      case Word::kMaxSplitSize:
        // -1, or the largest size_t, means unlimited.
        if (const auto bytes = int_of(set); bytes && *bytes >= 0) settings.max_split_size_bytes = *bytes;
        return;
      case Word::kGcThreshold:
        if (set.is(ValueKind::kReal)) {
          settings.garbage_collection_threshold = reals_[set.payload()];
        } else if (const auto number = int_of(set)) {
          settings.garbage_collection_threshold = static_cast<double>(*number);
        }
        return;
      case Word::kExpandableSegments:
        if (const auto number = int_of(set)) settings.expandable_segments = *number != 0;
        return;
      case Word::kRoundupDivisions:
        for_each_key(set, [&](Value megabytes, Value divisions) {
          std::int64_t power = int_of(megabytes).value_or(0);
          const std::string_view text = text_of(megabytes);
          std::from_chars(text.data(), text.data() + text.size(), power);
          if (const auto number = int_of(divisions)) {
            settings.roundup_power2_divisions.emplace_back(power, *number);
          }
        });
        return;
      default:
        if (set.is(ValueKind::kDict) || set.is(ValueKind::kList)) {
          note_unknown_key(key);
        } else {
          settings.others.emplace_back(scalar_text(key), scalar_text(set));
        }
    }
  });
}

// ---------------------------------------------------------------------------------------------------- rows in order

void SnapshotTree::number_devices() {
  std::vector<std::int64_t> numbers(count_items(trace_lists_));
  std::iota(numbers.begin(), numbers.end(), 0);
  for_each_item(segment_list_, [&](Value item) {
    if (!item.is(ValueKind::kSegment)) return;
    PendingSegment& segment = segments_[item.payload()];
    if (!segment.device_number.has_value()) {
      note_missing("a segment without device, taken as of device 0");
      segment.device_number = 0;
    }
    numbers.push_back(segment.device_number.value());
  });
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  for (const std::int64_t number : numbers) out_.devices.push_back({.number = number});
}

// A list of device_traces has the number of its place; devices stand in the order of their numbers.
Status SnapshotTree::gather_entries() {
  const std::vector<std::int64_t>& numbers = out_.devices.number.raw();
  std::uint64_t named = 0, expected = 0;
  bool is_in_order = true;
  for_each_item(trace_lists_, [&](Value list) {
    named += count_items(list);
    const bool is_next_run = list.is(ValueKind::kRun) && kept_[list.payload()] == Value(ValueKind::kEntry, expected);
    is_in_order &= list.is(ValueKind::kNoItems) || is_next_run;
    if (is_next_run) expected += count_items(list);
  });
  if (named > byte_count_) return too_many_rows();

  SnapshotEntries copied;
  std::int64_t number = 0, bytes = 0;
  bool is_plausible = true;
  std::uint32_t end = 0;
  for_each_item(trace_lists_, [&](Value list) {
    const auto at = std::lower_bound(numbers.begin(), numbers.end(), number++) - numbers.begin();
    const SnapshotDeviceId device(static_cast<std::size_t>(at));
    IdRange<SnapshotEntryId>& entries = out_.devices.entries[device];
    entries.begin = end;
    if (is_in_order) {
      end += static_cast<std::uint32_t>(count_items(list));
    } else {
      for_each_item(list, [&](Value item) {
        if (!item.is(ValueKind::kEntry)) return note_missing("an entry of device_traces without action");
        copied.push_back(out_.entries.row(SnapshotEntryId(item.index())));
        is_plausible &= add_bytes(bytes, copied.size_bytes.raw().back());
        ++end;
      });
    }
    entries.end = end;
  });
  if (!is_plausible) return too_many_rows();
  if (is_in_order) {
    truncate(out_.entries, end);
  } else {
    out_.entries = std::move(copied);
  }
  for (const IdRange<SnapshotEntryId> entries : out_.devices.entries.raw()) {
    for (const SnapshotEntryId entry : entries.ids()) {
      if (out_.entries.action[entry] > AllocatorAction::kSegmentUnmap) continue;
      out_.info.has_history = true;
      break;
    }
  }
  return Done{};
}

// Fills in the addresses and sums that old files leave out, and says where blocks and segment disagree.
void SnapshotTree::place_blocks(PendingSegment& segment, bool has_allocated, bool has_active) {
  SnapshotSegments::Row& row = segment.row;
  std::int64_t used = 0, allocated = 0, active = 0;
  bool has_block = false;
  for_each_item(segment.blocks, [&](Value item) {
    if (!item.is(ValueKind::kBlock)) return note_missing("a block without state");
    const SnapshotBlockId block(item.index());
    std::uint64_t& address = blocks_.address[block];
    if (address == kNoAddress) address = row.address + static_cast<std::uint64_t>(used);
    const std::int64_t size = blocks_.size_bytes[block];
    if (size > kMostBytesTogether - used) return;  // one block named again and again
    used += size;
    has_block = true;
    if (blocks_.state[block] == BlockState::kActiveAllocated) allocated += size;
    if (blocks_.state[block] != BlockState::kInactive) active += size;
  });
  if (!has_allocated) row.allocated_bytes = allocated;
  if (!has_active) row.active_bytes = active;
  if (has_block && used != row.total_bytes) {
    out_.notes.add(NoteKind::kBadSize, NoteSeverity::kLost, offset_,
                   "a segment of " + std::to_string(row.total_bytes) + " bytes with blocks of " + std::to_string(used));
  }
}

Status SnapshotTree::gather_segments() {
  std::vector<std::uint32_t> order;
  std::uint64_t named = count_items(segment_list_);
  if (named > byte_count_) return too_many_rows();
  for_each_item(segment_list_, [&](Value item) {
    if (!item.is(ValueKind::kSegment)) return note_missing("a segment that has neither total_size nor blocks");
    order.push_back(item.index());
    named += count_items(segments_[item.payload()].blocks);
  });
  if (named > byte_count_) return too_many_rows();
  std::ranges::stable_sort(order, {}, [&](std::uint32_t at) {
    return std::pair(segments_[at].device_number.value(), segments_[at].row.address);
  });

  const std::vector<std::int64_t>& numbers = out_.devices.number.raw();
  std::int64_t segment_bytes = 0, block_bytes = 0;
  bool is_plausible = true;
  for (const std::uint32_t at : order) {
    PendingSegment& segment = segments_[at];
    const auto device = std::ranges::lower_bound(numbers, segment.device_number.value()) - numbers.begin();
    segment.row.device = SnapshotDeviceId(static_cast<std::size_t>(device));
    segment.row.blocks.begin = static_cast<std::uint32_t>(out_.blocks.size());
    for_each_item(segment.blocks, [&](Value item) {
      if (!item.is(ValueKind::kBlock)) return;
      const SnapshotBlocks::Row block = blocks_.row(SnapshotBlockId(item.index()));
      is_plausible &=
          add_bytes(block_bytes, block.size_bytes) && add_bytes(block_bytes, block.requested_bytes.value_or(0));
      out_.blocks.push_back(block);
    });
    const SnapshotSegments::Row& row = segment.row;
    for (const std::int64_t bytes :
         {row.total_bytes, row.allocated_bytes, row.active_bytes, row.requested_bytes.value_or(0)}) {
      is_plausible &= add_bytes(segment_bytes, bytes);
    }
    segment.row.blocks.end = static_cast<std::uint32_t>(out_.blocks.size());
    const std::uint32_t added = out_.segments.push_back(segment.row).value;
    IdRange<SnapshotSegmentId>& range = out_.devices.segments[segment.row.device];
    if (range.empty()) range.begin = added;
    range.end = added + 1;
  }
  if (!is_plausible) return too_many_rows();
  return Done{};
}

void SnapshotTree::gather_marks() {
  std::vector<std::uint32_t> order;
  for_each_item(mark_list_, [&](Value item) {
    if (item.is(ValueKind::kMark)) {
      order.push_back(item.index());
    } else {
      note_missing("an annotation without stage");
    }
  });
  std::ranges::stable_sort(order, {}, [&](std::uint32_t at) { return marks_.time_us[SnapshotAnnotationId(at)].raw; });
  for (const std::uint32_t at : order) out_.annotations.push_back(marks_.row(SnapshotAnnotationId(at)));
}

// ------------------------------------------------------------------------------------------------------------ notes

void SnapshotTree::mark_cut_histories() {
  const auto flag = [&](Value value) -> std::optional<bool> {
    if (const auto number = int_of(value)) return *number != 0;
    return {};
  };
  out_.info.trace_alloc_overflowed = flag(overflowed_);
  std::vector<std::optional<bool>> by_device;
  for_each_item(overflowed_, [&](Value item) { by_device.push_back(flag(item)); });
  for (const auto& one : by_device) {
    if (one) out_.info.trace_alloc_overflowed = out_.info.trace_alloc_overflowed.value_or(false) || *one;
  }

  const MaybeInt most = out_.info.trace_alloc_max_entries;
  const auto is_full = [&](SnapshotDeviceId device) {
    return most.has_value() && out_.devices.entries[device].size() >= static_cast<std::uint64_t>(most.value());
  };
  const std::size_t count = out_.devices.size();
  bool any_full = false;
  for (std::size_t i = 0; i < count; ++i) any_full |= is_full(SnapshotDeviceId(i));
  for (std::size_t i = 0; i < count; ++i) {
    const SnapshotDeviceId device(i);
    const std::size_t entries = out_.devices.entries[device].size();
    if (entries == 0) continue;
    const auto number = static_cast<std::uint64_t>(out_.devices.number[device]);
    const bool has_own = number < by_device.size() && by_device[number].has_value();
    const bool overflowed = has_own ? *by_device[number] : out_.info.trace_alloc_overflowed.value_or(is_full(device));
    // One flag for all devices: it means those whose ring is full, if any is known to be.
    const bool is_cut = overflowed && (has_own || !any_full || is_full(device));
    out_.devices.is_history_cut[device] = is_cut ? 1 : 0;
    if (is_cut) {
      out_.notes.add(NoteKind::kHistoryCut, NoteSeverity::kInfo, 0,
                     "device " + std::to_string(number) + " keeps its last " + std::to_string(entries) +
                         " entries; older ones are gone");
    }
  }
}

void SnapshotTree::write_counted_notes() {
  const auto list = [&](const Counted& counted) {
    std::string names;
    for (const StringId name : counted.names) names += (names.empty() ? "" : ", ") + std::string(out_.text(name));
    return names;
  };
  if (unknown_actions_.count > 0) {
    const bool one = unknown_actions_.count == 1;
    out_.notes.add(NoteKind::kUnknownRecord, NoteSeverity::kInfo, unknown_actions_.first_offset,
                   std::to_string(unknown_actions_.count) + (one ? " entry" : " entries") +
                       " of unknown kind ignored: " + list(unknown_actions_),
                   unknown_actions_.count);
  }
  if (unknown_keys_.count > 0) {
    out_.notes.add(NoteKind::kUnknownKey, NoteSeverity::kInfo, unknown_keys_.first_offset,
                   "keys of a newer version, not used: " + list(unknown_keys_), unknown_keys_.count);
  }
}

}  // namespace stepscope::snapshot_reading

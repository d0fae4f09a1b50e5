// What a dict becomes: an entry, a frame, a segment, a block or an annotation, by the keys that it has.
//
// What a row needs and does not have is noted (missing_field), what nobody knows is counted (unknown_key). Sizes are
// kept so small together that sums of them cannot overflow: 2^62 bytes for the entries, the blocks and the segments
// each.
#include <algorithm>
#include <cmath>

#include "memory/snapshot_tree.h"

namespace stepscope::snapshot_reading {

namespace {

Word word_of(Value key) {
  return key.is(ValueKind::kText) ? snapshot_reading::word_of(StringId{key.index()}) : Word::kUnknown;
}

// Torch's names of graph nodes in frames (fx_node_op, fx_node_name ...): known, not used.
bool is_graph_key(std::string_view key) { return key.starts_with("fx_"); }

MemoryCategory category_of(Word word) {
  switch (word) {
    case Word::kParameter:
      return MemoryCategory::kParameter;
    case Word::kOptimizerState:
      return MemoryCategory::kOptimizerState;
    case Word::kInput:
      return MemoryCategory::kInput;
    case Word::kTemporary:
      return MemoryCategory::kTemporary;
    case Word::kActivation:
      return MemoryCategory::kActivation;
    case Word::kGradient:
      return MemoryCategory::kGradient;
    case Word::kAutogradDetail:
      return MemoryCategory::kAutogradDetail;
    default:
      return MemoryCategory::kUnknown;
  }
}

// Does an entry of this action name a piece of memory?
bool moves_memory(AllocatorAction action) { return action <= AllocatorAction::kSegmentUnmap; }

}  // namespace

// ------------------------------------------------------------------------------------------------------- scalars

std::optional<std::int64_t> SnapshotTree::unusual_int_of(Value value) const {
  switch (value.kind()) {
    case ValueKind::kFalse:
      return 0;
    case ValueKind::kTrue:
      return 1;
    case ValueKind::kBigInt: {
      const BigInt& big = big_ints_[value.payload()];
      constexpr std::uint64_t kLimit = 1ULL << 63;
      if (big.is_beyond || big.magnitude > kLimit || (big.magnitude == kLimit && !big.is_negative)) return {};
      return static_cast<std::int64_t>(big.is_negative ? 0 - big.magnitude : big.magnitude);
    }
    case ValueKind::kReal: {
      const double real = reals_[value.payload()];
      if (std::abs(real) < 9e15 && real == std::floor(real)) return static_cast<std::int64_t>(real);
      return {};
    }
    default:
      return {};
  }
}

std::optional<std::uint64_t> SnapshotTree::address_of(Value value) {
  if (value.is(ValueKind::kNone)) return {};
  if (value.is(ValueKind::kBigInt)) {
    const BigInt& big = big_ints_[value.payload()];
    if (!big.is_beyond && !big.is_negative) return big.magnitude;
  }
  const auto number = int_of(value);
  if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  out_.notes.add(NoteKind::kBadSize, NoteSeverity::kLost, offset_,
                 "an address that is no number of 64 bits, taken as 0");
  return 0;
}

std::optional<std::int64_t> SnapshotTree::size_of(Value value, std::int64_t& total) {
  if (value.is(ValueKind::kNone)) return {};
  const auto number = int_of(value);
  if (number && *number >= 0 && *number <= kMostBytesTogether - total) {
    total += *number;
    return number;
  }
  out_.notes.add(NoteKind::kBadSize, NoteSeverity::kLost, offset_,
                 number && *number < 0 ? "a negative size, taken as 0" : "a size that cannot be, taken as 0");
  return 0;
}

SnapshotStreamId SnapshotTree::stream_of(Value value) {
  const auto number = int_of(value);
  if (!number) return {};
  if (last_stream_id_.has_value() && last_stream_ == *number) return last_stream_id_;
  const auto [at, is_new] = stream_ids_.try_emplace(*number, SnapshotStreamId(out_.streams.size()));
  if (is_new) out_.streams.push_back(*number);
  last_stream_ = *number;
  last_stream_id_ = at->second;
  return last_stream_id_;
}

SnapshotPoolId SnapshotTree::pool_of(Value value) {
  if (!value.is(ValueKind::kPair)) return {};
  SnapshotPoolId& pool = pair_pools_[value.payload()];
  if (!pool.has_value()) {
    pool = SnapshotPoolId(out_.pools.size());
    out_.pools.push_back(pairs_[value.payload()]);
  }
  return pool;
}

SnapshotStackId SnapshotTree::stack_of(Value value) {
  if (value.is(ValueKind::kStack)) return SnapshotStackId(value.index());
  if (!value.is(ValueKind::kNoItems) && !value.is(ValueKind::kNone)) {
    out_.notes.add(NoteKind::kDamagedEvent, NoteSeverity::kLost, offset_, "frames that are no list of frames");
  }
  return {};
}

StringId SnapshotTree::text_id_of(Value value) const {
  return value.is(ValueKind::kText) ? StringId{value.index()} : StringId{};
}

void SnapshotTree::note_missing(std::string_view what) {
  out_.notes.add(NoteKind::kMissingField, NoteSeverity::kLost, offset_, what);
}

void SnapshotTree::count_name(Counted& counted, StringId name) {
  constexpr std::size_t kMostNames = 4;
  if (counted.count++ == 0) counted.first_offset = offset_;
  if (counted.names.size() < kMostNames && std::ranges::find(counted.names, name) == counted.names.end()) {
    counted.names.push_back(name);
  }
}

void SnapshotTree::note_unknown_key(Value key) { count_name(unknown_keys_, text_id_of(key)); }

// ------------------------------------------------------------------------------------------------------- entries

AllocatorAction SnapshotTree::action_of(Value value) {
  switch (word_of(value)) {
    case Word::kAlloc:
      return AllocatorAction::kAlloc;
    case Word::kFreeRequested:
      return AllocatorAction::kFreeRequested;
    case Word::kFreeCompleted:
      return AllocatorAction::kFreeCompleted;
    case Word::kSegmentAlloc:
      return AllocatorAction::kSegmentAlloc;
    case Word::kSegmentFree:
      return AllocatorAction::kSegmentFree;
    case Word::kSegmentMap:
      return AllocatorAction::kSegmentMap;
    case Word::kSegmentUnmap:
      return AllocatorAction::kSegmentUnmap;
    case Word::kOom:
      return AllocatorAction::kOom;
    case Word::kSnapshot:
      return AllocatorAction::kSnapshot;
    case Word::kAnnotate:
    case Word::kUserDefined:
      return AllocatorAction::kAnnotate;
    default:
      count_name(unknown_actions_, text_id_of(value));
      return AllocatorAction::kUnknown;
  }
}

void SnapshotTree::read_entry_key(EntryDraft& draft, Value key, Value value) {
  SnapshotEntries::Row& row = draft.row;
  switch (word_of(key)) {
    case Word::kAction:
      row.action = action_of(value);
      draft.has_action = true;
      return;
    case Word::kAddr:
    case Word::kDeviceFree:
      if (const auto address = address_of(value)) {
        row.address = *address;
        draft.has_address = true;
      }
      return;
    case Word::kSize:
      if (const auto size = size_of(value, entry_bytes_)) {
        row.size_bytes = *size;
        draft.has_size = true;
      }
      return;
    case Word::kStream:
      row.stream = stream_of(value);
      return;
    case Word::kTimeUs:
      if (const auto time = int_of(value)) row.time_us = *time;
      return;
    case Word::kFrames:
      row.stack = stack_of(value);
      return;
    case Word::kForwardFrames:
      row.forward_stack = stack_of(value);
      return;
    case Word::kCompileContext:
      row.compile_context = text_id_of(value);
      if (word_of(value) == Word::kNotAvailable) row.compile_context = {};
      return;
    case Word::kUserMetadata:
      row.user_metadata = text_id_of(value);
      return;
    case Word::kPoolId:
      row.pool = pool_of(value);
      return;
    case Word::kCategory:
      row.category = category_of(word_of(value));
      return;
    case Word::kDevice:  // the list that it is in says so too
    case Word::kStage:   // of user_defined entries
      return;
    default:
      note_unknown_key(key);
  }
}

void SnapshotTree::read_entry(EntryDraft& draft, std::span<const Value> keys_and_values) {
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    read_entry_key(draft, keys_and_values[i], keys_and_values[i + 1]);
  }
}

Value SnapshotTree::add_entry(std::span<const Value> keys_and_values) {
  EntryDraft draft;
  draft.row.action = AllocatorAction::kUnknown;
  draft.row.category = MemoryCategory::kUnknown;
  read_entry(draft, keys_and_values);
  if (moves_memory(draft.row.action)) {
    if (!draft.has_size) note_missing("an entry without size");
    if (!draft.has_address) note_missing("an entry without addr");
  } else if (draft.row.action == AllocatorAction::kOom && !draft.has_address) {
    draft.row.address = kUnknownFreeBytes;
  }
  return {ValueKind::kEntry, out_.entries.push_back(draft.row).value};
}

// A dict that got more items after it was seen to be an entry (protocol 0 sets them one by one).
void SnapshotTree::change_entry(Value entry, std::span<const Value> keys_and_values) {
  const SnapshotEntryId at(entry.index());
  EntryDraft draft{.row = out_.entries.row(at)};
  read_entry(draft, keys_and_values);
  SnapshotEntries changed;
  changed.push_back(draft.row);
  SnapshotEntries::for_each_member(
      [&](auto member) { (out_.entries.*member)[at] = (changed.*member)[SnapshotEntryId(std::size_t{0})]; });
}

// -------------------------------------------------------------------------------------- frames, segments, blocks,
// marks

Value SnapshotTree::row_of_dict(std::span<const Value> keys_and_values) {
  bool is_frame = false, is_segment = false, is_block = false, is_mark = false;
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    switch (word_of(keys_and_values[i])) {
      case Word::kAction:
        return add_entry(keys_and_values);
      case Word::kFilename:
        is_frame = true;
        break;
      case Word::kBlocks:
      case Word::kTotalSize:
        is_segment = true;
        break;
      case Word::kState:
        is_block = true;
        break;
      case Word::kStage:
        is_mark = true;
        break;
      default:
        break;
    }
  }
  if (is_mark) return add_mark(keys_and_values);
  if (is_segment) return add_segment(keys_and_values);
  if (is_block) return add_block(keys_and_values);
  if (is_frame) return add_frame(keys_and_values);
  return store(ValueKind::kDict, keys_and_values);
}

Value SnapshotTree::add_frame(std::span<const Value> keys_and_values) {
  SnapshotFrames::Row row;
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    const Value key = keys_and_values[i], value = keys_and_values[i + 1];
    switch (word_of(key)) {
      case Word::kName:
        row.name = text_id_of(value);
        break;
      case Word::kFilename:
        row.file = text_id_of(value);
        break;
      case Word::kLine:
        if (const auto line = int_of(value)) row.line = *line;
        break;
      default:
        if (!is_graph_key(text_of(key))) note_unknown_key(key);
    }
  }
  const Key key{row.name.value, row.file.value, static_cast<std::uint64_t>(row.line.raw)};
  const auto [at, is_new] = frame_ids_.try_emplace(key, SnapshotFrameId(out_.frames.size()));
  if (is_new) out_.frames.push_back(row);
  return {ValueKind::kFrame, at->second.value};
}

Value SnapshotTree::add_block(std::span<const Value> keys_and_values) {
  SnapshotBlocks::Row row;
  row.address = kNoAddress;
  bool has_size = false;
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    const Value key = keys_and_values[i], value = keys_and_values[i + 1];
    switch (word_of(key)) {
      case Word::kAddress:
        row.address = address_of(value).value_or(kNoAddress);
        break;
      case Word::kSize:
        if (const auto size = size_of(value, block_bytes_)) {
          row.size_bytes = *size;
          has_size = true;
        }
        break;
      case Word::kRequestedSize:
        if (const auto size = size_of(value, block_bytes_)) row.requested_bytes = *size;
        break;
      case Word::kState: {
        const Word state = word_of(value);
        if (state == Word::kActiveAllocated) {
          row.state = BlockState::kActiveAllocated;
        } else if (state == Word::kActivePendingFree || state == Word::kActiveAwaitingFree) {
          row.state = BlockState::kActivePendingFree;
        } else if (state != Word::kInactive) {
          out_.notes.add(NoteKind::kUnknownRecord, NoteSeverity::kLost, offset_,
                         "a block in an unknown state, taken as inactive: " + std::string(text_of(value)));
        }
        break;
      }
      case Word::kFrames:
        row.stack = stack_of(value);
        break;
      case Word::kHistory:
        read_history(row, value);
        break;
      case Word::kCategory:
        break;
      default:
        note_unknown_key(key);
    }
  }
  if (!has_size) note_missing("a block without size");
  return {ValueKind::kBlock, blocks_.push_back(row).value};
}

// Before torch 2.1 a block listed its allocations, the current one first, with the size that was asked for.
void SnapshotTree::read_history(SnapshotBlocks::Row& block, Value history) {
  if (!history.is(ValueKind::kList) || kept_[history.payload()].payload() == 0) return;
  const Value first = kept_[history.payload() + 1];
  if (!first.is(ValueKind::kDict)) return;
  const std::uint64_t count = kept_[first.payload()].payload();
  for (std::uint64_t i = 0; i + 1 < count; i += 2) {
    const Value key = kept_[first.payload() + 1 + i], value = kept_[first.payload() + 2 + i];
    if (word_of(key) == Word::kFrames) block.stack = stack_of(value);
    if (word_of(key) == Word::kRealSize && block.state != BlockState::kInactive) {
      if (const auto size = size_of(value, block_bytes_)) block.requested_bytes = *size;
    }
  }
}

Value SnapshotTree::add_mark(std::span<const Value> keys_and_values) {
  SnapshotAnnotations::Row row;
  row.device_number = -1;
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    const Value key = keys_and_values[i], value = keys_and_values[i + 1];
    switch (word_of(key)) {
      case Word::kStage:
        row.is_start = word_of(value) == Word::kStart ? 1 : 0;
        break;
      case Word::kName:
        row.name = text_id_of(value);
        break;
      case Word::kDevice:
        if (const auto number = int_of(value)) row.device_number = *number;
        break;
      case Word::kTimeUs:
        if (const auto time = int_of(value)) row.time_us = *time;
        break;
      default:
        note_unknown_key(key);
    }
  }
  return {ValueKind::kMark, marks_.push_back(row).value};
}

Value SnapshotTree::add_segment(std::span<const Value> keys_and_values) {
  PendingSegment segment;
  SnapshotSegments::Row& row = segment.row;
  bool has_total = false, has_allocated = false, has_active = false;
  const auto read_size = [&](Value value, std::int64_t& into) {
    const auto size = size_of(value, segment_bytes_);
    if (size) into = *size;
    return size.has_value();
  };
  for (std::size_t i = 0; i + 1 < keys_and_values.size(); i += 2) {
    const Value key = keys_and_values[i], value = keys_and_values[i + 1];
    switch (word_of(key)) {
      case Word::kDevice:
        if (const auto number = int_of(value)) segment.device_number = *number;
        break;
      case Word::kAddress:
        row.address = address_of(value).value_or(0);
        break;
      case Word::kTotalSize:
        has_total = read_size(value, row.total_bytes);
        break;
      case Word::kAllocatedSize:
        has_allocated = read_size(value, row.allocated_bytes);
        break;
      case Word::kActiveSize:
        has_active = read_size(value, row.active_bytes);
        break;
      case Word::kRequestedSize:
        if (const auto size = size_of(value, segment_bytes_)) row.requested_bytes = *size;
        break;
      case Word::kStream:
        row.stream = stream_of(value);
        break;
      case Word::kSegmentType:
        row.is_small = word_of(value) == Word::kSmall ? 1 : 0;
        break;
      case Word::kSegmentPoolId:
        row.pool = pool_of(value);
        break;
      case Word::kIsExpandable:
        row.is_expandable = value.is(ValueKind::kTrue) ? 1 : 0;
        break;
      case Word::kFrames:
        row.stack = stack_of(value);
        break;
      case Word::kBlocks:
        segment.blocks = value;
        break;
      default:
        note_unknown_key(key);
    }
  }
  if (!has_total) note_missing("a segment without total_size");
  place_blocks(segment, has_allocated, has_active);
  segments_.push_back(segment);
  return {ValueKind::kSegment, segments_.size() - 1};
}

}  // namespace stepscope::snapshot_reading

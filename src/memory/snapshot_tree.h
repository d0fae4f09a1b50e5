// Builds columns out of lists and dicts while they are read, in whatever order and nesting they come.
//
// A dict is known by its keys, not by its place: one with `action` is an entry, with `filename` a frame, with `blocks`
// a segment. So it becomes a row as soon as it is complete, and what stays of it is a Value of 8 bytes. A list or dict
// is complete when it is put into another one (Python fills containers before that); a file that changes it later is
// refused, because its rows are made. Until then it is a Container, of which a file has a few thousand at a time: they
// are used again and again.
//
// The same calls serve pickle and JSON. Nothing here recurses, so depth costs nothing; a list that holds itself is seen
// when it is put into itself.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <optional>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/result.h"
#include "memory/snapshot.h"
#include "memory/snapshot_memo.h"
#include "memory/snapshot_value.h"
#include "memory/snapshot_words.h"
#include "memory/stack_table.h"

namespace stepscope::snapshot_reading {

// Sizes that together exceed this cannot be; below it no sum of them overflows.
inline constexpr std::int64_t kMostBytesTogether = 1LL << 62;
// The address of a block that does not say it.
inline constexpr std::uint64_t kNoAddress = ~0ULL;

// A segment before all of them are sorted.
struct PendingSegment {
  SnapshotSegments::Row row;  // without device and blocks
  MaybeInt device_number;
  Value blocks;
};

class SnapshotTree {
 public:
  explicit SnapshotTree(MemorySnapshot& out);

  // Scalars.
  Value text(std::string_view text);
  Value integer(std::int64_t number);
  Value big_integer(const BigInt& number);
  Value real(double number);

  // Containers. A false means failure(): the target is no such container, or is complete already.
  [[nodiscard]] Value new_list() { return new_container(false); }
  [[nodiscard]] Value new_dict() { return new_container(true); }
  [[nodiscard]] bool append(Value list, std::span<Value> items);
  [[nodiscard]] bool set_items(Value dict, std::span<Value> keys_and_values);  // an even number
  [[nodiscard]] Value tuple(std::span<Value> items);
  // The final value of a container that nothing will be put into any more; other values as they are.
  Value complete(Value value) { return value.is(ValueKind::kOpen) ? complete_open(value) : value; }

  // The memo.
  void put(std::uint64_t at, Value value);
  // kUnset if nothing is there.
  [[nodiscard]] Value get(std::uint64_t at) {
    const Value value = memo_.get(at);
    if (value.is(ValueKind::kOpen)) containers_[value.index()].is_shared = true;
    return value;
  }
  [[nodiscard]] std::uint64_t memo_size() const { return memo_.size(); }
  // Puts at the next number.
  void memoize(Value value) {
    if (!value.is(ValueKind::kOpen)) return memo_.put(memo_.size(), value);
    put(memo_.size(), value);
  }
  [[nodiscard]] const Value* first_memo_slots() const { return memo_.first_slots(); }
  // As it stands there, for values that are final.
  [[nodiscard]] Value peek(std::uint64_t at) const { return memo_.get(at); }
  // The value is about to stand in two places.
  void share(Value value) {
    if (value.is(ValueKind::kOpen)) containers_[value.index()].is_shared = true;
  }

  // The place of the opcode at work, for notes.
  void set_offset(std::uint64_t offset) { offset_ = offset; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

  [[nodiscard]] bool is_open_list(Value value) const;
  [[nodiscard]] bool is_open_dict(Value value) const;
  // The text of a kText, empty for others.
  [[nodiscard]] std::string_view text_of(Value value) const;

  // The end: `top` becomes the snapshot. `byte_count`: bytes read, the measure of what is plausible.
  [[nodiscard]] Status finish(Value top, std::uint64_t byte_count);

 private:
  enum class Body : std::uint8_t { kNothing, kItems, kStack, kRun, kEntry, kForward };
  struct Container {
    std::vector<Value> items;  // of a dict: key, value, ...
    Value value;               // kStack: the stack; kRun, kEntry: the (first) row; kForward: what it became
    std::uint32_t run_count = 0;
    std::uint32_t memo_at = kNotInMemo;
    Body body = Body::kNothing;
    bool is_dict = false;
    bool is_shared = false;  // referenced from more than one place: its number is not used again
  };
  static constexpr std::uint32_t kNotInMemo = 0xFFFFFFFF;

  struct EntryDraft {
    SnapshotEntries::Row row;
    bool has_action = false, has_size = false, has_address = false;
  };

  // snapshot_tree.cpp
  Value new_container(bool is_dict);
  Value new_text(std::string_view text);
  Value complete_open(Value value);
  [[nodiscard]] bool append_stack(Container& list, std::span<const Value> items);
  Container* find_open(Value value);
  Value become_value(Container& container);
  Value list_value(std::span<const Value> items);
  Value store(ValueKind kind, std::span<const Value> items);
  Value store_run(Value first, std::uint32_t count);
  void spread(Container& list);
  [[nodiscard]] std::optional<Value> stack_value(std::span<const Value> frames);
  bool fail(std::string message);

  // snapshot_rows.cpp: what dicts become
  [[nodiscard]] Value row_of_dict(std::span<const Value> keys_and_values);
  Value add_entry(std::span<const Value> keys_and_values);
  void change_entry(Value entry, std::span<const Value> keys_and_values);
  void read_entry(EntryDraft& draft, std::span<const Value> keys_and_values);
  void read_entry_key(EntryDraft& draft, Value key, Value value);
  Value add_frame(std::span<const Value> keys_and_values);
  Value add_segment(std::span<const Value> keys_and_values);
  Value add_block(std::span<const Value> keys_and_values);
  void read_history(SnapshotBlocks::Row& block, Value history);
  Value add_mark(std::span<const Value> keys_and_values);
  void place_blocks(PendingSegment& segment, bool has_allocated, bool has_active);

  [[nodiscard]] AllocatorAction action_of(Value value);
  [[nodiscard]] std::optional<std::int64_t> int_of(Value value) const {
    return value.is(ValueKind::kInt) ? value.small_int() : unusual_int_of(value);
  }
  [[nodiscard]] std::optional<std::int64_t> unusual_int_of(Value value) const;
  [[nodiscard]] std::optional<std::uint64_t> address_of(Value value);
  [[nodiscard]] std::optional<std::int64_t> size_of(Value value, std::int64_t& total);
  [[nodiscard]] SnapshotStreamId stream_of(Value value);
  [[nodiscard]] SnapshotPoolId pool_of(Value value);
  [[nodiscard]] SnapshotStackId stack_of(Value value);
  [[nodiscard]] StringId text_id_of(Value value) const;
  void note_missing(std::string_view what);
  void note_unknown_key(Value key);

  // snapshot_finish.cpp: what the top means
  [[nodiscard]] std::uint64_t count_items(Value list) const;
  template <class Visit>
  void for_each_item(Value list, Visit&& visit) const;
  template <class Visit>
  void for_each_key(Value dict, Visit&& visit) const;
  [[nodiscard]] Status read_top(Value top);
  [[nodiscard]] Status gather_entries();
  [[nodiscard]] Status gather_segments();
  void number_devices();
  void read_settings(Value settings);
  void gather_marks();
  void count_host(Value host_traces);
  void read_losses(Value losses);
  void add_losses();
  void mark_cut_histories();
  [[nodiscard]] std::string scalar_text(Value value) const;
  void write_counted_notes();

  MemorySnapshot& out_;
  StackTable stack_table_;
  Memo memo_;
  std::vector<Container> containers_;
  std::vector<std::uint32_t> unused_;  // containers to use again
  std::vector<Value> kept_;            // contents of kRun, kList and kDict
  std::vector<BigInt> big_ints_;
  std::vector<double> reals_;
  std::vector<SnapshotFrameId> frames_buffer_;
  // Short texts seen lately: every entry has its own object of the text N/A.
  struct ShortText {
    std::uint64_t bytes = 0;
    std::size_t size = 0;  // 0: free
    Value value;
  };
  std::array<ShortText, 16> short_texts_;
  std::uint64_t offset_ = 0;
  std::string failure_;

  // Three numbers that name a frame (name, file, line) or two that name a pool.
  using Key = std::array<std::uint64_t, 3>;
  struct KeyHash {
    [[nodiscard]] std::size_t operator()(const Key& key) const noexcept {
      return MixedHash{}(MixedHash{}(MixedHash{}(key[0]) + key[1]) + key[2]);
    }
  };
  tsl::robin_map<Key, SnapshotFrameId, KeyHash> frame_ids_;
  tsl::robin_map<std::int64_t, SnapshotStreamId, MixedHash> stream_ids_;
  std::int64_t last_stream_ = 0;
  SnapshotStreamId last_stream_id_;
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs_;
  std::vector<SnapshotPoolId> pair_pools_;  // of pairs_; empty: not used as a pool yet
  tsl::robin_map<Key, std::uint32_t, KeyHash> pair_ids_;

  std::vector<PendingSegment> segments_;
  SnapshotBlocks blocks_;
  SnapshotAnnotations marks_;
  std::int64_t entry_bytes_ = 0, block_bytes_ = 0, segment_bytes_ = 0;

  Value segment_list_, trace_lists_, mark_list_, host_traces_, overflowed_;
  std::uint64_t byte_count_ = 0;

  // Counted here and noted once, so that the note can say what they were.
  struct Counted {
    std::uint64_t count = 0, first_offset = 0;
    std::vector<StringId> names;  // distinct, the first few
  };
  void count_name(Counted& counted, StringId name);
  Counted unknown_keys_, unknown_actions_;
  Notes losses_;  // that the file itself tells of
};

}  // namespace stepscope::snapshot_reading

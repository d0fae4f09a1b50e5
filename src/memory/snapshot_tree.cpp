// Containers: made, filled, completed, used again.
#include "memory/snapshot_tree.h"

#include <algorithm>
#include <cstring>

namespace stepscope::snapshot_reading {

namespace {

// Python's pickler has a thousand items of a level under construction; more than a million at once is no snapshot.
constexpr std::size_t kMostContainers = 1 << 20;
// A container that grew beyond this gives its memory back instead of keeping it for the next use.
constexpr std::size_t kMostKeptItems = 4096;

bool is_row(ValueKind kind) { return kind >= ValueKind::kEntry && kind <= ValueKind::kMark; }

// Is it UTF-8? Surrogates are not, though Python writes them.
bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* end = at + text.size();
  while (at < end) {
    if (*at < 0x80) {
      ++at;
      continue;
    }
    const int more = *at >= 0xC2 && *at < 0xE0 ? 1 : *at >= 0xE0 && *at < 0xF0 ? 2 : *at >= 0xF0 && *at < 0xF5 ? 3 : 0;
    if (more == 0 || end - at <= more) return false;
    for (int i = 1; i <= more; ++i) {
      if ((at[i] & 0xC0) != 0x80) return false;
    }
    const bool is_overlong = (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xF0 && at[1] < 0x90);
    const bool is_beyond = (*at == 0xED && at[1] >= 0xA0) || (*at == 0xF4 && at[1] >= 0x90);
    if (is_overlong || is_beyond) return false;
    at += more + 1;
  }
  return true;
}

}  // namespace

SnapshotTree::SnapshotTree(MemorySnapshot& out) : out_(out), stack_table_(out.stacks, out.stack_frames) {
  intern_words(out_.strings);
}

bool SnapshotTree::fail(std::string message) {
  if (failure_.empty()) failure_ = std::move(message);
  return false;
}

Value SnapshotTree::text(std::string_view text) {
  if (text.empty() || text.size() > sizeof(std::uint64_t)) return new_text(text);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), text.size());
  ShortText& seen = short_texts_[(bytes ^ text.size()) % short_texts_.size()];
  if (seen.bytes != bytes || seen.size != text.size()) seen = {bytes, text.size(), new_text(text)};
  return seen.value;
}

Value SnapshotTree::new_text(std::string_view text) {
  const std::size_t before = out_.strings.size();
  const StringId id = out_.strings.intern(text);
  if (out_.strings.size() > before && !is_utf8(text)) {
    out_.notes.add(NoteKind::kControlCharacter, NoteSeverity::kRecovered, offset_,
                   "a text that is not UTF-8, kept as it is");
  }
  return {ValueKind::kText, id.value};
}

Value SnapshotTree::integer(std::int64_t number) {
  if (number >= -Value::kSmallIntLimit && number < Value::kSmallIntLimit) {
    return {ValueKind::kInt, static_cast<std::uint64_t>(number)};
  }
  const bool is_negative = number < 0;
  const auto bits = static_cast<std::uint64_t>(number);
  return big_integer({.magnitude = is_negative ? 0 - bits : bits, .is_negative = is_negative});
}

Value SnapshotTree::big_integer(const BigInt& number) {
  constexpr auto kLimit = static_cast<std::uint64_t>(Value::kSmallIntLimit);
  if (!number.is_beyond && number.magnitude < kLimit) {
    const auto magnitude = static_cast<std::int64_t>(number.magnitude);
    return {ValueKind::kInt, static_cast<std::uint64_t>(number.is_negative ? -magnitude : magnitude)};
  }
  if (big_ints_.empty() || big_ints_.back().magnitude != number.magnitude ||
      big_ints_.back().is_negative != number.is_negative || big_ints_.back().is_beyond != number.is_beyond) {
    big_ints_.push_back(number);
  }
  return {ValueKind::kBigInt, big_ints_.size() - 1};
}

Value SnapshotTree::real(double number) {
  reals_.push_back(number);
  return {ValueKind::kReal, reals_.size() - 1};
}

std::string_view SnapshotTree::text_of(Value value) const {
  return value.is(ValueKind::kText) ? out_.strings.view({value.index()}) : std::string_view();
}

// ---------------------------------------------------------------------------------------------------- containers

Value SnapshotTree::new_container(bool is_dict) {
  std::uint32_t at = 0;
  if (unused_.empty()) {
    if (containers_.size() >= kMostContainers) {
      fail("more than a million lists and dicts are begun and not put anywhere");
      return {};
    }
    at = static_cast<std::uint32_t>(containers_.size());
    containers_.emplace_back();
  } else {
    at = unused_.back();
    unused_.pop_back();
  }
  containers_[at].is_dict = is_dict;
  return {ValueKind::kOpen, at};
}

SnapshotTree::Container* SnapshotTree::find_open(Value value) {
  if (!value.is(ValueKind::kOpen)) return nullptr;
  Container& container = containers_[value.index()];
  return container.body == Body::kForward ? nullptr : &container;
}

bool SnapshotTree::is_open_list(Value value) const {
  if (!value.is(ValueKind::kOpen)) return false;
  const Container& container = containers_[value.index()];
  return !container.is_dict && container.body != Body::kForward;
}

bool SnapshotTree::is_open_dict(Value value) const {
  if (!value.is(ValueKind::kOpen)) return false;
  const Container& container = containers_[value.index()];
  return container.is_dict && container.body != Body::kForward;
}

void SnapshotTree::put(std::uint64_t at, Value value) {
  if (value.is(ValueKind::kOpen)) {
    Container& container = containers_[value.index()];
    if (container.memo_at == kNotInMemo && at < kNotInMemo) {
      container.memo_at = static_cast<std::uint32_t>(at);
    } else {
      container.is_shared = true;
    }
  }
  // What stood there before keeps its container: someone may hold it.
  if (const Value old = memo_.get(at); old.is(ValueKind::kOpen)) containers_[old.index()].is_shared = true;
  memo_.put(at, value);
}

Value SnapshotTree::complete_open(Value value) {
  Container& container = containers_[value.index()];
  if (container.body == Body::kForward) return container.value;
  const Value became = become_value(container);
  if (container.memo_at != kNotInMemo && memo_.get(container.memo_at) == value) memo_.put(container.memo_at, became);
  container.items.clear();
  if (container.items.capacity() > kMostKeptItems) container.items = {};
  if (container.is_shared) {
    container.body = Body::kForward;
    container.value = became;
    container.items = {};
    return became;
  }
  container.body = Body::kNothing;
  container.memo_at = kNotInMemo;
  unused_.push_back(value.index());
  return became;
}

Value SnapshotTree::become_value(Container& container) {
  switch (container.body) {
    case Body::kNothing:
      return container.is_dict ? ValueKind::kNoKeys : ValueKind::kNoItems;
    case Body::kRun:
      return store_run(container.value, container.run_count);
    case Body::kItems:
      return container.is_dict ? row_of_dict(container.items) : list_value(container.items);
    case Body::kStack:
    case Body::kEntry:
    case Body::kForward:
      break;
  }
  return container.value;
}

// Two integers are a pool's id in JSON, where there are no tuples.
Value SnapshotTree::list_value(std::span<const Value> items) {
  if (items.empty()) return ValueKind::kNoItems;
  if (const auto stack = stack_value(items)) return *stack;
  const auto is_number = [](Value value) { return value.is(ValueKind::kInt) || value.is(ValueKind::kBigInt); };
  if (items.size() == 2 && is_number(items[0]) && is_number(items[1]) && int_of(items[0]) && int_of(items[1])) {
    const std::pair pair(*int_of(items[0]), *int_of(items[1]));
    const Key key{static_cast<std::uint64_t>(pair.first), static_cast<std::uint64_t>(pair.second), 0};
    const auto [at, is_new] = pair_ids_.try_emplace(key, static_cast<std::uint32_t>(pairs_.size()));
    if (is_new) {
      pairs_.push_back(pair);
      pair_pools_.emplace_back();
    }
    return {ValueKind::kPair, at->second};
  }
  return store(ValueKind::kList, items);
}

Value SnapshotTree::store(ValueKind kind, std::span<const Value> items) {
  const std::size_t at = kept_.size();
  kept_.emplace_back(ValueKind::kInt, items.size());
  kept_.insert(kept_.end(), items.begin(), items.end());
  return {kind, at};
}

Value SnapshotTree::store_run(Value first, std::uint32_t count) {
  kept_.push_back(first);
  kept_.emplace_back(ValueKind::kInt, count);
  return {ValueKind::kRun, kept_.size() - 2};
}

// The stack that these frames are, if all are frames.
std::optional<Value> SnapshotTree::stack_value(std::span<const Value> frames) {
  frames_buffer_.resize(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!frames[i].is(ValueKind::kFrame)) return {};
    frames_buffer_[i] = SnapshotFrameId(frames[i].index());
  }
  return Value(ValueKind::kStack, stack_table_.find_or_add(frames_buffer_).value);
}

// Makes the short form of a list (a stack, a run of rows) plain items again.
void SnapshotTree::spread(Container& list) {
  if (list.body == Body::kStack) {
    for (const SnapshotFrameId frame : out_.frames_of(SnapshotStackId(list.value.index()))) {
      list.items.emplace_back(ValueKind::kFrame, frame.value);
    }
  } else if (list.body == Body::kRun) {
    for (std::uint32_t i = 0; i < list.run_count; ++i) {
      list.items.emplace_back(list.value.kind(), list.value.payload() + i);
    }
  }
  list.body = Body::kItems;
}

// Most lists are stacks that come in one piece: a new stack, or false if these are not all frames.
bool SnapshotTree::append_stack(Container& list, std::span<const Value> items) {
  const auto stack = stack_value(items);
  if (!stack) return false;
  list.value = *stack;
  list.body = Body::kStack;
  return true;
}

bool SnapshotTree::append(Value target, std::span<Value> items) {
  if (items.size() > 1 && items[0].is(ValueKind::kFrame)) {
    Container* list = find_open(target);
    if (list != nullptr && !list->is_dict && list->body == Body::kNothing && append_stack(*list, items)) return true;
  }
  for (Value& item : items) item = complete(item);
  Container* list = find_open(target);
  if (list == nullptr || list->is_dict) {
    return fail(target.is(ValueKind::kOpen) && !is_open_dict(target) ? "a list that holds itself or changes after use"
                                                                     : "the object to append to is no list");
  }
  if (items.empty()) return true;
  if (list->body == Body::kNothing) {
    // A stack over a thousand frames deep comes in pieces, and is spread out when the second comes.
    if (items.size() > 1 && items[0].is(ValueKind::kFrame) && append_stack(*list, items)) return true;
    if (is_row(items[0].kind())) {
      list->value = items[0];
      list->run_count = 0;
      list->body = Body::kRun;
    }
  }
  if (list->body == Body::kRun) {
    std::size_t taken = 0;
    while (taken < items.size() && items[taken] == Value(list->value.kind(), list->value.payload() + list->run_count)) {
      ++list->run_count;
      ++taken;
    }
    items = items.subspan(taken);
    if (items.empty()) return true;
  }
  if (list->body != Body::kItems) spread(*list);
  list->items.insert(list->items.end(), items.begin(), items.end());
  return true;
}

bool SnapshotTree::set_items(Value target, std::span<Value> keys_and_values) {
  for (Value& item : keys_and_values) item = complete(item);
  if (target.is(ValueKind::kEntry)) return fail("an entry that changes after use");
  Container* dict = find_open(target);
  if (dict == nullptr || !dict->is_dict) {
    return fail(target.is(ValueKind::kOpen) && !is_open_list(target) ? "a dict that holds itself or changes after use"
                                                                     : "the object to set an item of is no dict");
  }
  if (keys_and_values.empty()) return true;
  if (dict->body == Body::kEntry) {
    change_entry(dict->value, keys_and_values);
    return true;
  }
  if (dict->body == Body::kNothing && keys_and_values.size() > 2) {
    // Most dicts of a file are entries, and nearly all come in one piece.
    for (std::size_t i = 0; i < keys_and_values.size(); i += 2) {
      if (keys_and_values[i] != Value(ValueKind::kText, static_cast<std::uint64_t>(Word::kAction))) continue;
      dict->value = add_entry(keys_and_values);
      dict->body = Body::kEntry;
      return true;
    }
  }
  dict->body = Body::kItems;
  dict->items.insert(dict->items.end(), keys_and_values.begin(), keys_and_values.end());
  return true;
}

Value SnapshotTree::tuple(std::span<Value> items) {
  for (Value& item : items) item = complete(item);
  if (!items.empty() && is_row(items[0].kind())) return store(ValueKind::kList, items);
  return list_value(items);
}

}  // namespace stepscope::snapshot_reading

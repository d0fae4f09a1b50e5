// The loop over opcodes: frequent ones here, rare ones in functions of their own.
#include "memory/pickle_machine.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "memory/pickle_text.h"

namespace stepscope::snapshot_reading {

namespace {

// Opcode and operand of the longest that have a fixed size.
constexpr std::size_t kLongestFixed = 1 + 8;
constexpr int kNewestProtocol = 5;

template <class Number>
Number load(const std::uint8_t* at) {
  static_assert(std::endian::native == std::endian::little);
  Number number = 0;
  std::memcpy(&number, at, sizeof number);
  return number;
}

// For messages: what the file asks for, without what a terminal would act upon.
std::string shown(std::string_view text) {
  constexpr std::size_t kShownBytes = 80;
  std::string out(text.substr(0, kShownBytes));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return text.size() > kShownBytes ? out + "..." : out;
}

}  // namespace

PickleMachine::PickleMachine(ByteWindow& window, SnapshotTree& tree, Notes& notes)
    : window_(window), tree_(tree), notes_(notes) {}

Result<Value> PickleMachine::run() {
  at_ = window_.begin();
  const Outcome outcome = run_opcodes();
  if (window_.error()) return *window_.error();
  if (outcome == Outcome::kFail) return error_;
  if (outcome == Outcome::kStop) {
    if (at_ == window_.end()) window_.refill(at_, 1);
    if (at_ < window_.end() || !window_.has_ended()) {
      notes_.add(NoteKind::kTrailingText, NoteSeverity::kInfo, op_offset_ + 1, "bytes after the end of the pickle");
    }
    return stack_.back();
  }
  const std::uint64_t end = window_.byte_count();
  if (marks_.empty() && stack_.size() == 1 && op_offset_ == end) {
    notes_.add(NoteKind::kFileCut, NoteSeverity::kRecovered, end,
               "the pickle has no STOP; the object before it is whole");
    return stack_.back();
  }
  notes_.add(NoteKind::kFileCut, NoteSeverity::kUnsound, end, "the file is cut: its pickle does not end");
  return close_what_is_open();
}

PickleMachine::Outcome PickleMachine::fail(Op op, std::string_view why) {
  const std::string_view name = opcode_name(op);
  std::string shown_name(name);
  if (name.empty()) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<std::uint8_t>(op);
    shown_name = {'0', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  error_ = {.code = ErrorCode::kDamaged,
            .message = "damaged pickle: opcode " + shown_name + ": " + std::string(why),
            .file = {},
            .byte_offset = op_offset_};
  return Outcome::kFail;
}

PickleMachine::Outcome PickleMachine::refuse(Op op) {
  std::string wanted;
  std::string_view first;
  if (op == Op::kGlobal || op == Op::kInst) {
    if (read_line(first)) wanted = std::string(first) + ".";
    if (std::string_view second; read_line(second)) wanted += second;
  } else if (op == Op::kPersId) {
    if (read_line(first)) wanted = "the object " + std::string(first);
  } else if (op == Op::kStackGlobal && has(2)) {
    wanted = std::string(tree_.text_of(top(2)[0])) + "." + std::string(tree_.text_of(top(2)[1]));
  } else if (const std::size_t bytes = operand_bytes(op); bytes > 0) {
    wanted = "extension " + std::to_string(little_endian(bytes));
  }
  error_ = {.code = ErrorCode::kDamaged,
            .message = "the pickle wants to run code: opcode " + std::string(opcode_name(op)) +
                       (wanted.empty() ? "" : " asks for " + shown(wanted)) +
                       "; a memory snapshot holds data only, nothing was run",
            .file = {},
            .byte_offset = op_offset_};
  return Outcome::kFail;
}

// ---------------------------------------------------------------------------------------------------------- reading

std::uint64_t PickleMachine::little_endian(std::size_t bytes) const {
  std::uint64_t number = 0;
  std::memcpy(&number, at_, bytes);
  static_assert(std::endian::native == std::endian::little);
  return number;
}

bool PickleMachine::read_bytes(std::uint64_t count, std::string_view& into) {
  if (count <= static_cast<std::uint64_t>(window_.end() - at_)) {
    into = {reinterpret_cast<const char*>(at_), static_cast<std::size_t>(count)};
    at_ += count;
    return true;
  }
  scratch_.clear();
  while (scratch_.size() < count) {
    if (at_ == window_.end()) {
      window_.refill(at_, 1);
      at_ = window_.begin();
      if (at_ == window_.end()) return false;
    }
    const auto here = static_cast<std::uint64_t>(window_.end() - at_);
    const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(here, count - scratch_.size()));
    scratch_.append(reinterpret_cast<const char*>(at_), taken);
    at_ += taken;
  }
  into = scratch_;
  return true;
}

// Without the line's end.
bool PickleMachine::read_line(std::string_view& into) {
  scratch_.clear();
  for (;;) {
    const void* end = std::memchr(at_, '\n', static_cast<std::size_t>(window_.end() - at_));
    const auto* stop = end != nullptr ? static_cast<const std::uint8_t*>(end) : window_.end();
    scratch_.append(reinterpret_cast<const char*>(at_), static_cast<std::size_t>(stop - at_));
    at_ = stop;
    if (end != nullptr) break;
    window_.refill(at_, 1);
    at_ = window_.begin();
    if (at_ == window_.end()) return false;
  }
  ++at_;
  into = scratch_;
  return true;
}

Value PickleMachine::integer_of_bytes(std::string_view bytes) {
  if (bytes.empty()) return tree_.integer(0);
  const bool is_negative = (bytes.back() & 0x80) != 0;
  const char fill = is_negative ? '\xff' : '\0';
  while (bytes.size() > 1 && bytes.back() == fill) bytes.remove_suffix(1);
  if (bytes.size() > 8) return tree_.big_integer({.is_negative = is_negative, .is_beyond = true});
  std::uint64_t bits = is_negative ? ~0ULL : 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  // Eight bytes that lost their sign byte: the number needs 65 bits when it is negative and the top bit is clear.
  if (is_negative && bytes.size() == 8 && (bits >> 63) == 0) {
    return tree_.big_integer({.is_negative = true, .is_beyond = true});
  }
  return tree_.big_integer({.magnitude = is_negative ? 0 - bits : bits, .is_negative = is_negative});
}

bool PickleMachine::integer_of_line(std::string_view line, Value& into) {
  if (line == "00" || line == "01") {
    into = line == "01" ? ValueKind::kTrue : ValueKind::kFalse;
    return true;
  }
  if (line.ends_with('L')) line.remove_suffix(1);
  BigInt number;
  number.is_negative = line.starts_with('-');
  if (line.starts_with('-') || line.starts_with('+')) line.remove_prefix(1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number.magnitude);
  if (line.empty() || end != line.data() + line.size() || error == std::errc::invalid_argument) return false;
  number.is_beyond = error == std::errc::result_out_of_range;
  into = tree_.big_integer(number);
  return true;
}

// ------------------------------------------------------------------------------------------------------------- stack

bool PickleMachine::take_mark(std::size_t& begin) {
  if (marks_.empty()) return false;
  begin = marks_.back();
  marks_.pop_back();
  return true;
}

PickleMachine::Outcome PickleMachine::append(Op op, std::size_t items_begin) {
  if (items_begin <= fence()) return fail(op, "there is no list under the items");
  tree_.set_offset(op_offset_);
  if (!tree_.append(stack_[items_begin - 1], stack_.from(items_begin))) return fail(op, tree_.failure());
  stack_.shrink(items_begin);
  return Outcome::kContinue;
}

PickleMachine::Outcome PickleMachine::set_items(Op op, std::size_t items_begin) {
  if (items_begin <= fence()) return fail(op, "there is no dict under the items");
  if ((stack_.size() - items_begin) % 2 != 0) return fail(op, "a key without a value");
  tree_.set_offset(op_offset_);
  if (!tree_.set_items(stack_[items_begin - 1], stack_.from(items_begin))) {
    return fail(op, tree_.failure());
  }
  stack_.shrink(items_begin);
  return Outcome::kContinue;
}

PickleMachine::Outcome PickleMachine::put(Op op, std::uint64_t at) {
  if (!has(1)) return fail(op, "the stack is empty");
  // Python numbers the objects it puts one after the other, and each takes two bytes at least.
  if (at > op_offset_) return fail(op, "memo number " + std::to_string(at) + " is larger than the file is long");
  tree_.put(at, stack_.back());
  return Outcome::kContinue;
}

PickleMachine::Outcome PickleMachine::get(Op op, std::uint64_t at) {
  const Value value = tree_.get(at);
  if (value.is(ValueKind::kUnset)) return fail(op, "nothing was put under memo number " + std::to_string(at));
  push(value);
  return Outcome::kContinue;
}

// ------------------------------------------------------------------------------------------------------------ opcodes

// The opcodes that make up nearly all of a file, with the place and the end of the stack in registers. What is unusual
// about one of them (an unset memo number, a piece that is not all in the window) is left to run_rare.
PickleMachine::Outcome PickleMachine::run_opcodes() {
  const Value* const memo = tree_.first_memo_slots();
  const std::uint8_t* at = at_;
  Value* end = stack_.end();
  const Value* limit = stack_.limit();
  for (;;) {
    if (window_.end() - at < static_cast<std::ptrdiff_t>(kLongestFixed)) {
      window_.refill(at, kLongestFixed);
      at = at_ = window_.begin();
      op_offset_ = window_.offset_of(at);
      stack_.set_end(end);
      const auto here = static_cast<std::size_t>(window_.end() - at);
      if (here == 0 || 1 + operand_bytes(static_cast<Op>(*at)) > here) return Outcome::kCut;
    }
    if (end == limit) {
      stack_.set_end(end);
      stack_.grow();
      end = stack_.end();
      limit = stack_.limit();
    }
    const Op op = static_cast<Op>(*at);
    switch (op) {
      case Op::kBinGet:
        if (const Value value = memo[at[1]]; value.is_final()) {
          *end++ = value;
          at += 2;
          continue;
        }
        break;
      case Op::kLongBinGet:
        if (const Value value = tree_.peek(load<std::uint32_t>(at + 1)); value.is_final()) {
          *end++ = value;
          at += 5;
          continue;
        }
        break;
      case Op::kBinInt1:
        *end++ = {ValueKind::kInt, at[1]};
        at += 2;
        continue;
      case Op::kBinInt2:
        *end++ = {ValueKind::kInt, load<std::uint16_t>(at + 1)};
        at += 3;
        continue;
      case Op::kBinInt:
        *end++ = {ValueKind::kInt, static_cast<std::uint64_t>(std::int64_t{load<std::int32_t>(at + 1)})};
        at += 5;
        continue;
      case Op::kLong1:
        // Up to 56 bits are in the value itself. The load reads up to 8 bytes too far, within the padding.
        if (const std::size_t size = at[1]; size - 1 < 7 && static_cast<std::size_t>(window_.end() - at) >= 2 + size) {
          const std::size_t unused_bits = 64 - 8 * size;
          const auto number = static_cast<std::int64_t>(load<std::uint64_t>(at + 2) << unused_bits) >> unused_bits;
          *end++ = {ValueKind::kInt, static_cast<std::uint64_t>(number)};
          at += 2 + size;
          continue;
        }
        break;
      default:
        break;
    }
    stack_.set_end(end);
    op_offset_ = window_.offset_of(at);
    at_ = at + 1;
    const Outcome outcome = run_rare(op);
    if (outcome != Outcome::kContinue) return outcome;
    at = at_;
    end = stack_.end();
    limit = stack_.limit();
  }
}

PickleMachine::Outcome PickleMachine::run_rare(Op op) {
  switch (op) {
    case Op::kMark:
      marks_.push_back(stack_.size());
      return Outcome::kContinue;
    case Op::kMemoize:
      if (!has(1)) return fail(op, "the stack is empty");
      tree_.memoize(stack_.back());
      return Outcome::kContinue;
    case Op::kEmptyList:
    case Op::kEmptyDict:
    case Op::kAppends:
    case Op::kSetItems:
      return run_container_opcode(op);
    case Op::kShortBinUnicode:
      return run_text_opcode(op);
    default:
      return run_rarest(op);
  }
}

PickleMachine::Outcome PickleMachine::run_rarest(Op op) {
  const std::size_t operand = operand_bytes(op);
  const std::uint64_t number = operand > 0 ? little_endian(operand) : 0;
  switch (op) {
    case Op::kBinGet:
    case Op::kLongBinGet:
      at_ += operand;
      return get(op, number);
    case Op::kBinPut:
    case Op::kLongBinPut:
      at_ += operand;
      return put(op, number);
    case Op::kNone:
      push(ValueKind::kNone);
      return Outcome::kContinue;
    case Op::kNewTrue:
      push(ValueKind::kTrue);
      return Outcome::kContinue;
    case Op::kNewFalse:
      push(ValueKind::kFalse);
      return Outcome::kContinue;
    case Op::kBinFloat: {
      std::uint64_t bits = 0;  // big-endian
      for (std::size_t i = 0; i < 8; ++i) bits = bits << 8 | at_[i];
      at_ += operand;
      push(tree_.real(std::bit_cast<double>(bits)));
      return Outcome::kContinue;
    }
    case Op::kFrame:  // how long the next piece is: not needed, not believed
      at_ += operand;
      return Outcome::kContinue;
    case Op::kProto:
      at_ += operand;
      if (number > kNewestProtocol) return fail(op, "protocol " + std::to_string(number) + " is not known (0 to 5)");
      protocol_ = static_cast<int>(number);
      return Outcome::kContinue;
    case Op::kPop:
      if (!has(1)) {
        std::size_t begin = 0;
        if (!take_mark(begin)) return fail(op, "the stack is empty");
        return Outcome::kContinue;
      }
      stack_.pop_back();
      return Outcome::kContinue;
    case Op::kDup:
      if (!has(1)) return fail(op, "the stack is empty");
      tree_.share(stack_.back());
      push(stack_.back());
      return Outcome::kContinue;
    case Op::kStop:
      if (!has(1)) return fail(op, "the stack is empty");
      return Outcome::kStop;
    case Op::kGlobal:
    case Op::kStackGlobal:
    case Op::kReduce:
    case Op::kBuild:
    case Op::kInst:
    case Op::kObj:
    case Op::kNewObj:
    case Op::kNewObjEx:
    case Op::kExt1:
    case Op::kExt2:
    case Op::kExt4:
    case Op::kPersId:
    case Op::kBinPersId:
      return refuse(op);
    case Op::kNextBuffer:
    case Op::kReadOnlyBuffer:
      return fail(op, "data outside the file is wanted");
    default:
      break;
  }
  if (opcode_name(op).empty()) return fail(op, "no such opcode");
  const Outcome outcome = run_container_opcode(op);
  return outcome == Outcome::kCut ? run_text_opcode(op) : outcome;
}

// kCut: it is none of these.
PickleMachine::Outcome PickleMachine::run_container_opcode(Op op) {
  std::size_t begin = 0;
  switch (op) {
    case Op::kEmptyList:
    case Op::kEmptySet:
    case Op::kEmptyDict: {
      const Value made = op == Op::kEmptyDict ? tree_.new_dict() : tree_.new_list();
      if (made.is(ValueKind::kUnset)) return fail(op, tree_.failure());
      push(made);
      return Outcome::kContinue;
    }
    case Op::kAppend:
      if (!has(2)) return fail(op, "the stack has no list and item");
      return append(op, stack_.size() - 1);
    case Op::kSetItem:
      if (!has(3)) return fail(op, "the stack has no dict, key and value");
      return set_items(op, stack_.size() - 2);
    case Op::kAppends:
    case Op::kAddItems:
      if (!take_mark(begin)) return fail(op, "there is no mark");
      return append(op, begin);
    case Op::kSetItems:
      if (!take_mark(begin)) return fail(op, "there is no mark");
      return set_items(op, begin);
    case Op::kList:
    case Op::kFrozenSet:
    case Op::kDict: {
      if (!take_mark(begin)) return fail(op, "there is no mark");
      const Value made = op == Op::kDict ? tree_.new_dict() : tree_.new_list();
      if (made.is(ValueKind::kUnset)) return fail(op, tree_.failure());
      stack_.insert(begin, made);
      return op == Op::kDict ? set_items(op, begin + 1) : append(op, begin + 1);
    }
    case Op::kPopMark:
      if (!take_mark(begin)) return fail(op, "there is no mark");
      stack_.shrink(begin);
      return Outcome::kContinue;
    case Op::kEmptyTuple:
      push(ValueKind::kNoItems);
      return Outcome::kContinue;
    case Op::kTuple:
      if (!take_mark(begin)) return fail(op, "there is no mark");
      break;
    case Op::kTuple1:
    case Op::kTuple2:
    case Op::kTuple3: {
      const std::size_t count = static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::kTuple1) + 1;
      if (!has(count)) return fail(op, "the stack has too few items");
      begin = stack_.size() - count;
      break;
    }
    default:
      return Outcome::kCut;
  }
  const Value made = tree_.tuple(stack_.from(begin));
  stack_.shrink(begin);
  push(made);
  return Outcome::kContinue;
}

// Opcodes with a text or a number of any length behind them.
PickleMachine::Outcome PickleMachine::run_text_opcode(Op op) {
  std::string_view text;
  if (const std::size_t operand = operand_bytes(op); operand > 0) {
    const std::uint64_t size = little_endian(operand);
    if (op == Op::kLong4 && size >> 31 != 0) return fail(op, "a negative length");
    at_ += operand;
    if (!read_bytes(size, text)) return Outcome::kCut;
    const bool is_integer = op == Op::kLong1 || op == Op::kLong4;
    tree_.set_offset(op_offset_);
    push(is_integer ? integer_of_bytes(text) : tree_.text(text));
    return Outcome::kContinue;
  }
  if (!read_line(text)) return Outcome::kCut;
  Value value;
  tree_.set_offset(op_offset_);
  if (op == Op::kUnicode) {
    push(tree_.text(text_of_raw_escapes(text)));
    return Outcome::kContinue;
  }
  if (text.ends_with('\r')) text.remove_suffix(1);
  switch (op) {
    case Op::kInt:
    case Op::kLong:
      if (!integer_of_line(text, value)) return fail(op, "no number: " + shown(text));
      push(value);
      return Outcome::kContinue;
    case Op::kGet:
    case Op::kPut: {
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size()) return fail(op, "no number: " + shown(text));
      return op == Op::kGet ? get(op, number) : put(op, number);
    }
    case Op::kFloat: {
      double number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc::invalid_argument) return fail(op, "no number: " + shown(text));
      push(tree_.real(number));
      return Outcome::kContinue;
    }
    case Op::kString:
      if (text.size() < 2 || text.front() != text.back() || (text.front() != '\'' && text.front() != '"')) {
        return fail(op, "a text without quotes");
      }
      push(tree_.text(text_of_repr(text.substr(1, text.size() - 2))));
      return Outcome::kContinue;
    default:
      return fail(op, "no such opcode");
  }
}

// --------------------------------------------------------------------------------------------------------- cut inputs

// Puts the items from `begin` into the list or dict under them.
void PickleMachine::close_range(std::size_t begin, bool is_dict) {
  std::span<Value> items = stack_.from(begin);
  if (is_dict) {
    // A list of one item is filled without a mark, so list and item stand where one value should.
    if (items.size() % 2 == 1 && items.size() >= 3 && tree_.is_open_list(items[items.size() - 2])) {
      (void)tree_.append(items[items.size() - 2], items.last(1));
      items = items.first(items.size() - 1);
    }
    (void)tree_.set_items(stack_[begin - 1], items.first(items.size() / 2 * 2));
  } else {
    (void)tree_.append(stack_[begin - 1], items);
  }
  stack_.shrink(begin);
}

Value PickleMachine::close_what_is_open() {
  tree_.set_offset(op_offset_);
  bool has_dropped = false;
  for (std::size_t begin = 0; take_mark(begin);) {
    const bool has_owner = begin > fence();
    if (!has_dropped && begin > 1 && has_owner && tree_.is_open_dict(stack_[begin - 1])) {
      stack_.shrink(begin - 1);  // the innermost dict is a row cut in its middle
      has_dropped = true;
    } else if (has_owner && tree_.is_open_dict(stack_[begin - 1])) {
      close_range(begin, true);
    } else if (has_owner && tree_.is_open_list(stack_[begin - 1])) {
      close_range(begin, false);
    } else {
      stack_.shrink(begin);
    }
  }
  while (stack_.size() > 1) {
    const std::size_t under = stack_.size() - 2;
    if (tree_.is_open_list(stack_[under])) {
      close_range(under + 1, false);
    } else if (under > 0 && tree_.is_open_dict(stack_[under - 1])) {
      close_range(under, true);
    } else {
      stack_.pop_back();
    }
  }
  return stack_.empty() ? Value(ValueKind::kNone) : stack_.back();
}

}  // namespace stepscope::snapshot_reading

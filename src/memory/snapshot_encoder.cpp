// The opcodes, by the letters that Python's pickle module has for them:
//
//   \x80 PROTO   }  EMPTY_DICT   ]  EMPTY_LIST   (  MARK   u  SETITEMS   e  APPENDS   \x94 MEMOIZE   h  BINGET
//   j  LONG_BINGET   K  BININT1   M  BININT2   J  BININT   \x8a LONG1   G  BINFLOAT   \x8c SHORT_BINUNICODE
//   X  BINUNICODE   \x86 TUPLE2   \x88 NEWTRUE   \x89 NEWFALSE   .  STOP
//
// All of them occur in files that torch writes, so whoever reads those reads these. Lists are appended to by batches of
// 1,000 items, as Python does it: readers keep a batch on their stack.
#include "memory/snapshot_encoder.h"

#include <simdjson.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace stepscope::snapshot_writing {
namespace {

constexpr std::size_t kBatch = 1000;

// Pickle and JSON hold text as UTF-8; a broken piece becomes U+FFFD.
std::string valid_text(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return std::string(text);
  const std::string quoted = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(quoted).get<std::string>();
}

template <class Number>
std::string_view digits_of(Number number, std::array<char, 32>& digits) {
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), static_cast<std::size_t>(end.ptr - digits.data())};
}

}  // namespace

void PieceBuffer::flush() {
  if (status_ && !bytes_.empty()) status_ = take_(bytes_);
  bytes_.clear();
}

// ---------------------------------------------------------------------------------------------------------- pickle

PickleEncoder::PickleEncoder(const TakeBytes& take) : out_(take) { out_.put("\x80\x04"); }

MemoNumber PickleEncoder::begin_dict(bool is_remembered) {
  out_.put('}');
  const MemoNumber number = is_remembered ? remember() : 0;
  out_.put('(');
  return number;
}
void PickleEncoder::end_dict() {
  out_.put('u');
  out_.flush_if_full();
}

MemoNumber PickleEncoder::begin_list(bool is_remembered) {
  out_.put(']');
  counts_.push_back(0);
  return is_remembered ? remember() : 0;
}
void PickleEncoder::begin_item() {
  std::size_t& count = counts_.back();
  if (count % kBatch == 0) {
    if (count > 0) out_.put('e');
    out_.put('(');
  }
  ++count;
}
void PickleEncoder::end_list() {
  if (counts_.back() > 0) out_.put('e');
  counts_.pop_back();
}

void PickleEncoder::text(std::string_view raw) {
  const auto [at, is_new] = texts_.try_emplace(std::string(raw), memo_count_ + 1);
  if (!is_new) return refer(at->second);
  const std::string text = valid_text(raw);
  if (text.size() < 256) {
    out_.put('\x8c');
    put_little_endian(text.size(), 1);
  } else {
    out_.put('X');
    put_little_endian(text.size(), 4);
  }
  out_.put(text);
  remember();
}

void PickleEncoder::integer(std::int64_t number) {
  if (number >= 0 && number < 256) {
    out_.put('K');
    put_little_endian(static_cast<std::uint64_t>(number), 1);
  } else if (number >= 0 && number < 65536) {
    out_.put('M');
    put_little_endian(static_cast<std::uint64_t>(number), 2);
  } else if (number >= std::numeric_limits<std::int32_t>::min() && number <= std::numeric_limits<std::int32_t>::max()) {
    out_.put('J');
    put_little_endian(static_cast<std::uint64_t>(number), 4);
  } else if (number > 0) {
    unsigned_integer(static_cast<std::uint64_t>(number));
  } else {
    out_.put("\x8a\x08");
    put_little_endian(static_cast<std::uint64_t>(number), 8);
  }
}

// Two's complement of as many bytes as it takes, so a ninth one where the eighth would say that it is negative.
void PickleEncoder::unsigned_integer(std::uint64_t number) {
  if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    return integer(static_cast<std::int64_t>(number));
  const auto bytes = static_cast<unsigned>(std::bit_width(number) / 8 + 1);
  out_.put('\x8a');
  put_little_endian(bytes, 1);
  put_little_endian(number, std::min(bytes, 8U));
  if (bytes == 9) out_.put('\0');
}

void PickleEncoder::real(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  out_.put('G');
  for (unsigned i = 8; i-- > 0;) out_.put(static_cast<char>(bits >> 8 * i & 0xff));  // big end first, unlike the rest
}

void PickleEncoder::boolean(bool value) { out_.put(value ? '\x88' : '\x89'); }

void PickleEncoder::pair(std::int64_t first, std::int64_t second) {
  integer(first);
  integer(second);
  out_.put('\x86');
}

// Of what was put last.
MemoNumber PickleEncoder::remember() {
  out_.put('\x94');
  return ++memo_count_;
}

void PickleEncoder::refer(MemoNumber number) {
  const std::uint64_t index = number - 1;
  out_.put(index < 256 ? 'h' : 'j');
  put_little_endian(index, index < 256 ? 1 : 4);
}

Status PickleEncoder::finish() {
  out_.put('.');
  return out_.finish();
}

void PickleEncoder::put_little_endian(std::uint64_t number, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) out_.put(static_cast<char>(number >> 8 * i & 0xff));
}

// ------------------------------------------------------------------------------------------------------------ JSON

MemoNumber JsonEncoder::open(char bracket) {
  out_.put(bracket);
  is_first_ = true;
  return 0;
}
void JsonEncoder::close(char bracket) {
  out_.put(bracket);
  is_first_ = false;
  out_.flush_if_full();
}
void JsonEncoder::separate() {
  if (!is_first_) out_.put(", ");
  is_first_ = false;
}

void JsonEncoder::key(std::string_view name) {
  separate();
  text(name);
  out_.put(": ");
}

void JsonEncoder::text(std::string_view text) {
  const auto [at, is_new] = quoted_.try_emplace(std::string(text));
  if (is_new) at->second = nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  out_.put(at->second);
}

void JsonEncoder::integer(std::int64_t number) {
  std::array<char, 32> digits{};
  out_.put(digits_of(number, digits));
}
void JsonEncoder::unsigned_integer(std::uint64_t number) {
  std::array<char, 32> digits{};
  out_.put(digits_of(number, digits));
}

// JSON has no NaN and no infinity.
void JsonEncoder::real(double number) {
  if (!std::isfinite(number)) return out_.put("null");
  out_.put(nlohmann::json(number).dump());  // "1.0" stays a real
}

void JsonEncoder::boolean(bool value) { out_.put(value ? std::string_view("true") : "false"); }

void JsonEncoder::pair(std::int64_t first, std::int64_t second) {
  out_.put('[');
  integer(first);
  out_.put(", ");
  integer(second);
  out_.put(']');
}

Status JsonEncoder::finish() {
  out_.put('\n');
  return out_.finish();
}

}  // namespace stepscope::snapshot_writing

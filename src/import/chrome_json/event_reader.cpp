// Keys in any order; the arguments are read where they stand.
#include "import/chrome_json/event_reader.h"

#include <limits>

#include "import/chrome_json/skip_list.h"

namespace stepscope::chrome_json {
namespace {

// Words without a meaning in JSON are taken as "no value" up to this length; longer ones are damage.
constexpr std::ptrdiff_t kLongestWord = 16;
// Doubles are printed with up to 24 bytes, ids of 128 bits with 39, and lavish writers pad.
constexpr std::ptrdiff_t kLongestNumber = 400;
constexpr std::uint32_t kOver64BitsDigits = 20;

bool is_word_char(char c) {
  return is_number_char(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' || c == '#' || c == '(' ||
         c == ')' || c == '_';
}

const char* read_word(const char* at, const char* end, Token& token, Remarks& remarks) {
  const char* const begin = at;
  while (is_word_char(*at)) ++at;
  if (at == begin || at - begin > kLongestWord || !ends_value(*at)) {
    remarks.met_end |= at >= end && at - begin <= kLongestWord;
    return nullptr;
  }
  token = {begin, static_cast<std::uint32_t>(at - begin), TokenKind::kWord};
  const std::string_view word = token.text();
  if (word == "true" || word == "false" || word == "null") return at;
  token.kind = TokenKind::kNoValue;
  if (remarks.bare_values++ == 0) remarks.first_bare_value = begin;
  return at;
}

bool is_over_64_bits(std::string_view digits) {
  static constexpr std::string_view kLargest = "18446744073709551615";
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return false;
  return digits.size() > kLargest.size() || (digits.size() == kLargest.size() && digits > kLargest);
}

// The first byte makes it a number; whether the others do is seen when it is converted.
const char* read_number(const char* at, const char* end, Token& token, Remarks& remarks) {
  if (*at == '-' && !is_digit(at[1])) return read_word(at, end, token, remarks);
  const char* const behind = find_value_end(at);
  if (behind - at > kLongestNumber || !ends_value(*behind)) {
    remarks.met_end |= behind >= end && behind - at <= kLongestNumber;
    return nullptr;
  }
  token = {at, static_cast<std::uint32_t>(behind - at), TokenKind::kNumber};
  if (token.size >= kOver64BitsDigits && is_over_64_bits(token.text())) {
    if (remarks.big_integers++ == 0) remarks.first_big_integer = at;
  }
  return behind;
}

const char* read_string(const char* at, const char* end, Token& token, Remarks& remarks) {
  bool has_backslash = false;
  const char* const close = find_string_end(at + 1, end, has_backslash);
  if (close == nullptr || close - at > std::numeric_limits<std::int32_t>::max()) {
    remarks.met_end |= close == nullptr;
    return nullptr;
  }
  token = {at + 1, static_cast<std::uint32_t>(close - at - 1),
           has_backslash ? TokenKind::kEscapedString : TokenKind::kString};
  return close + 1;
}

// Members until `}`; `store(key, value)` keeps what is needed. `nested(key, at)` may read a value itself.
template <class Read>
const char* read_members(const char* at, const char* end, bool& met_end, Read&& read) {
  at = skip_space(at + 1);
  if (*at == '}') return at + 1;
  for (;;) {
    std::string_view key;
    at = read_key(at, end, key, met_end);
    if (at == nullptr) return nullptr;
    if (at >= end) break;
    at = read(key, at);
    if (at == nullptr) return nullptr;
    at = skip_space(at);
    if (at >= end) break;
    if (*at == '}') return at + 1;
    if (*at != ',') return nullptr;
    at = skip_space(at + 1);
  }
  met_end = true;
  return nullptr;
}

const char* read_args(const char* at, const char* end, Event& event, Remarks& remarks) {
  return read_members(at, end, remarks.met_end, [&](std::string_view key, const char* value) {
    return read_value(value, end, event.args.slot(arg_of(key)), remarks);
  });
}

}  // namespace

const char* read_value(const char* at, const char* end, Token& token, Remarks& remarks) {
  switch (*at) {
    case '"':
      return read_string(at, end, token, remarks);
    case '[':
    case '{':
      return read_container(at, end, kLongestContainer, token, remarks);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      return read_number(at, end, token, remarks);
    default:
      return read_word(at, end, token, remarks);
  }
}

const char* read_container(const char* at, const char* end, std::ptrdiff_t longest, Token& token, Remarks& remarks) {
  bool met_end = false;
  const char* const limit = end - at < longest ? end : at + longest;
  const char* const behind = *at == '[' ? skip_list(at, limit, met_end) : skip_container(at, limit, met_end);
  if (behind == nullptr) {
    remarks.met_end |= met_end && end - at < longest;
    return nullptr;
  }
  token = {at, static_cast<std::uint32_t>(behind - at), TokenKind::kContainer};
  return behind;
}

const char* read_event(const char* at, const char* end, Event& event, Remarks& remarks) {
  const Remarks before = remarks;
  event.clear();
  event.begin = at;
  event.end = read_members(at, end, remarks.met_end, [&](std::string_view key, const char* value) {
    const Field field = field_of(key);
    if (field != Field::kCount && event.fields.has(field)) return static_cast<const char*>(nullptr);  // pieces of two
    Token& token = event.fields.slot(field);
    if (field != Field::kArgs || *value != '{') return read_value(value, end, token, remarks);
    const char* const behind = read_args(value, end, event, remarks);
    token = {value, static_cast<std::uint32_t>(behind - value), TokenKind::kContainer};
    return behind;
  });
  if (event.end == nullptr) {
    const bool met_end = remarks.met_end;
    remarks = before;
    remarks.met_end |= met_end;
  }
  return event.end;
}

}  // namespace stepscope::chrome_json

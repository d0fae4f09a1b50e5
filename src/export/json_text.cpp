// One walk by characters serves escaping and both checks, so that they cannot disagree.
#include "export/json_text.h"

#include <array>
#include <cstdint>

namespace stepscope {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t size = 0;  // bytes
  bool is_broken = false;
};

// Table 3-7 of the Unicode standard: which second bytes may follow a first byte. Broken text is cut where the first
// byte stands that cannot follow ("maximal subpart").
Character decode(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const std::uint32_t first = byte(at);
  if (first < 0x80) return {first, 1, false};
  if (first < 0xc2 || first > 0xf4) return {0, 1, true};
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  std::uint32_t least = 0x80;
  std::uint32_t most = 0xbf;
  if (first == 0xe0) least = 0xa0;
  if (first == 0xed) most = 0x9f;
  if (first == 0xf0) least = 0x90;
  if (first == 0xf4) most = 0x8f;
  std::uint32_t code = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const std::uint32_t next = byte(at + i);
    if (next < least || next > most) return {0, i, true};
    least = 0x80;
    most = 0xbf;
    code = code << 6 | (next & 0x3f);
  }
  return {code, size, false};
}

constexpr std::uint32_t kLineSeparator = 0x2028;
constexpr std::uint32_t kParagraphSeparator = 0x2029;

bool opens_tag(std::string_view text, std::size_t at) {
  return text[at] == '<' && at + 1 < text.size() && (text[at + 1] == '/' || text[at + 1] == '!');
}

// May the character stand in a page's script, quotes and backslashes aside?
bool is_harmless(std::string_view text, std::size_t at, const Character& character) {
  return !character.is_broken && character.code != kLineSeparator && character.code != kParagraphSeparator &&
         !opens_tag(text, at);
}

bool is_plain(std::string_view text, std::size_t at, const Character& character) {
  return is_harmless(text, at, character) && character.code >= 0x20 && character.code != '"' && character.code != '\\';
}

void append_code(std::uint32_t code, std::string& into) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  into += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) into += kHex[code >> shift & 0xf];
}

void append_escaped(std::uint32_t code, std::string& into) {
  switch (code) {
    case '"':
      into += "\\\"";
      break;
    case '\\':
      into += "\\\\";
      break;
    case '\n':
      into += "\\n";
      break;
    case '\r':
      into += "\\r";
      break;
    case '\t':
      into += "\\t";
      break;
    default:
      append_code(code, into);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A reader that only says yes or no.
class JsonCheck {
 public:
  explicit JsonCheck(std::string_view text) : text_(text) {}

  bool check() {
    skip_space();
    if (!value(0)) return false;
    skip_space();
    return at_ == text_.size();
  }

 private:
  static constexpr int kDeepest = 64;

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
  }
  bool word(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  // NOLINTNEXTLINE(misc-no-recursion): at most kDeepest deep.
  bool value(int depth) {
    switch (peek()) {
      case '[':
        return depth < kDeepest && list(depth + 1);
      case '{':
        return depth < kDeepest && object(depth + 1);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool list(int depth) {
    ++at_;
    skip_space();
    if (take(']')) return true;
    for (;;) {
      skip_space();
      if (!value(depth)) return false;
      skip_space();
      if (take(']')) return true;
      if (!take(',')) return false;
    }
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  bool object(int depth) {
    ++at_;
    skip_space();
    if (take('}')) return true;
    for (;;) {
      skip_space();
      if (!string()) return false;
      skip_space();
      if (!take(':')) return false;
      skip_space();
      if (!value(depth)) return false;
      skip_space();
      if (take('}')) return true;
      if (!take(',')) return false;
    }
  }

  bool escape() {
    ++at_;
    if (!take('u')) {
      const bool known = std::string_view("\"\\/bfnrt").find(peek()) != std::string_view::npos && peek() != '\0';
      ++at_;
      return known;
    }
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = peek();
      if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) return false;
    }
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      if (take('"')) return true;
      if (peek() == '\\') {
        if (!escape()) return false;
        continue;
      }
      const Character character = decode(text_, at_);
      if (!is_plain(text_, at_, character)) return false;
      at_ += character.size;
    }
    return false;
  }

  bool digits() {
    if (!is_digit(peek())) return false;
    while (is_digit(peek())) ++at_;
    return true;
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

void append_json_string(std::string_view text, std::string& into) {
  into += '"';
  for (std::size_t at = 0; at < text.size();) {
    const Character character = decode(text, at);
    if (is_plain(text, at, character))
      into.append(text, at, character.size);
    else if (character.is_broken)
      into += "\xef\xbf\xbd";
    else
      append_escaped(character.code, into);
    at += character.size;
  }
  into += '"';
}

void append_valid_utf8(std::string_view text, std::string& into) {
  std::size_t whole = 0;  // begin of what is not yet appended
  for (std::size_t at = 0; at < text.size();) {
    const Character character = decode(text, at);
    if (character.is_broken) {
      into.append(text.substr(whole, at - whole));
      into += "\xEF\xBF\xBD";
      whole = at + character.size;
    }
    at += character.size;
  }
  into.append(text.substr(whole));
}

bool is_plain_json_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = decode(text, at);
    if (!is_plain(text, at, character)) return false;
    at += character.size;
  }
  return true;
}

bool is_json_value(std::string_view text) { return JsonCheck(text).check(); }

bool is_json_integer(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > kMostDigits) return false;
  for (const char c : text) {
    if (!is_digit(c)) return false;
  }
  return text[0] != '0' || (text.size() == 1 && !negative);
}

}  // namespace stepscope

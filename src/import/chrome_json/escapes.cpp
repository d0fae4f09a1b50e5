// Surrogate pairs become one character; half of a pair becomes U+FFFD.
#include "import/chrome_json/escapes.h"

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace stepscope::chrome_json {
namespace {

std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text.substr(at, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return value;
}

void append_utf8(std::string& into, std::uint32_t code) {
  auto push = [&](std::uint32_t byte) { into.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xc0 | code >> 6);
    push(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    push(0xe0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3f));
    push(0x80 | (code & 0x3f));
  } else {
    push(0xf0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3f));
    push(0x80 | (code >> 6 & 0x3f));
    push(0x80 | (code & 0x3f));
  }
}

char simple_escape(char c) {
  switch (c) {
    case '"':
      return '"';
    case '\\':
      return '\\';
    case '/':
      return '/';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return '\0';
  }
}

constexpr std::uint32_t kReplacement = 0xfffd;

// `at` stands behind `\u`; moved behind the digits, of both halves if there are two. False if they are not hex.
bool decode_unicode(std::string_view text, std::size_t& at, std::string& into) {
  const std::optional<std::uint32_t> first = hex4(text, at);
  if (!first) return false;
  at += 4;
  std::uint32_t code = *first;
  if (code >= 0xd800 && code < 0xdc00 && text.substr(at, 2) == "\\u") {
    const std::optional<std::uint32_t> second = hex4(text, at + 2);
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (*second - 0xdc00);
      at += 6;
    }
  }
  append_utf8(into, code >= 0xd800 && code < 0xe000 ? kReplacement : code);
  return true;
}

}  // namespace

std::size_t decode_escapes(std::string_view text, std::string& into) {
  into.clear();
  std::size_t invalid = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t backslash = std::min(text.find('\\', at), text.size());
    into.append(text, at, backslash - at);
    if (backslash == text.size()) break;
    at = backslash + 1;
    const char escape = at < text.size() ? text[at] : '\0';
    if (escape == 'u') {
      ++at;
      if (!decode_unicode(text, at, into)) ++invalid;
    } else if (const char plain = simple_escape(escape); plain != '\0') {
      into.push_back(plain);
      ++at;
    } else {
      ++invalid;
    }
  }
  if (invalid > 0) into = text;
  return invalid;
}

bool has_forbidden_bytes(std::string_view text) {
  const bool control =
      std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return control || !simdjson::validate_utf8(text.data(), text.size());
}

}  // namespace stepscope::chrome_json

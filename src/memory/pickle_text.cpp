// Both kinds go through one loop each; surrogates become three bytes, as Python's surrogatepass does.
#include "memory/pickle_text.h"

#include <charconv>
#include <cstdint>
#include <optional>

namespace stepscope::snapshot_reading {

namespace {

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  const auto put_rest = [&](int shift) { put(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put_rest(6);
  } else {
    put(0xF0 | code >> 18);
    put_rest(12);
    put_rest(6);
  }
  put_rest(0);
}

// The number in the first `digits` bytes, if they are hexadecimal.
std::optional<std::uint32_t> hex_of(std::string_view text, std::size_t digits) {
  std::uint32_t number = 0;
  if (text.size() < digits) return {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number, 16);
  if (error != std::errc() || end != text.data() + digits) return {};
  return number;
}

}  // namespace

std::string text_of_raw_escapes(std::string_view line) {
  std::string out;
  constexpr std::uint32_t kLastCharacter = 0x10FFFF;
  while (!line.empty()) {
    if (line.front() != '\\' || line.size() == 1) {
      append_utf8(out, static_cast<unsigned char>(line.front()));
      line.remove_prefix(1);
      continue;
    }
    const std::size_t digits = line[1] == 'u' ? 4 : line[1] == 'U' ? 8 : 0;
    const auto code = digits > 0 ? hex_of(line.substr(2), digits) : std::nullopt;
    if (code && *code <= kLastCharacter) {
      append_utf8(out, *code);
      line.remove_prefix(2 + digits);
    } else {
      out += '\\';
      append_utf8(out, static_cast<unsigned char>(line[1]));
      line.remove_prefix(2);
    }
  }
  return out;
}

std::string text_of_repr(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    if (line.front() != '\\' || line.size() == 1) {
      out += line.front();
      line.remove_prefix(1);
      continue;
    }
    constexpr std::string_view kEscapes = "\\'\"nrt", kMeanings = "\\'\"\n\r\t";
    if (const auto code = line[1] == 'x' ? hex_of(line.substr(2), 2) : std::nullopt) {
      out += static_cast<char>(*code);
      line.remove_prefix(4);
      continue;
    }
    if (const auto at = kEscapes.find(line[1]); at != std::string_view::npos) {
      out += kMeanings[at];
    } else {
      out += line.substr(0, 2);
    }
    line.remove_prefix(2);
  }
  return out;
}

}  // namespace stepscope::snapshot_reading

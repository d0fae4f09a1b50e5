// Two formats of line tables: pairs of signed deltas in 3.10 (PEP 626), and from 3.11 on entries that give columns too
// (Objects/locations.md of CPython), of which only the lines are read.
#include "agent/python_code.h"

namespace stepscope::agent {
namespace {

constexpr std::uint64_t kMostText = 1 << 16;   // a longer file or function name is no name
constexpr std::uint64_t kMostTable = 1 << 22;  // a function of a million lines

void append_utf8(std::string& out, std::uint32_t c) {
  if (c >= 0xD800 && c < 0xE000) c = 0xFFFD;
  if (c > 0x10FFFF) c = 0xFFFD;
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

// state: 2 bits interned, 3 bits bytes each, 1 bit compact, 1 bit ASCII, at 32 in every version from 3.10 to 3.14.
template <class Reader>
bool read_string(const PythonLayout& layout, std::uint64_t object, std::string& text) {
  std::uint64_t length = 0;
  std::uint32_t state = 0;
  if (!Reader::read(object + kSizeAt, &length, 8) || !Reader::read(object + 32, &state, 4)) return false;
  const unsigned bytes_each = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || length > kMostText || (bytes_each != 1 && bytes_each != 2 && bytes_each != 4)) return false;
  std::string stored(length * bytes_each, '\0');
  if (!Reader::read(object + (is_ascii ? layout.ascii_header : layout.other_header), stored.data(), stored.size())) {
    return false;
  }
  text = is_ascii ? std::move(stored) : utf8_of(stored, bytes_each);
  return true;
}

template <class Reader>
bool read_bytes(std::uint64_t object, std::string& bytes) {
  std::uint64_t size = 0;
  if (!Reader::read(object + kSizeAt, &size, 8) || size > kMostTable) return false;
  bytes.resize(size);
  return Reader::read(object + kBytesAt, bytes.data(), size);
}

std::uint32_t as_line(std::int64_t line) {
  return line > 0 && line <= 0x7FFFFFFF ? static_cast<std::uint32_t>(line) : 0;
}

std::uint32_t line_of_3_10(const CodeText& text, std::int32_t instruction) {
  std::int64_t line = text.first_line;
  std::int64_t end = 0;
  for (std::size_t at = 0; at + 1 < text.lines.size(); at += 2) {
    const auto delta = static_cast<signed char>(text.lines[at + 1]);
    const bool has_line = delta != -128;
    if (has_line) line += delta;
    end += static_cast<unsigned char>(text.lines[at]);
    if (instruction < end) return has_line ? as_line(line) : 0;
  }
  return 0;
}

class LocationTable {
 public:
  explicit LocationTable(std::string_view bytes) : bytes_(bytes) {}

  std::uint32_t find(std::int64_t line, std::int32_t instruction) {
    std::int64_t end = 0;
    while (at_ < bytes_.size()) {
      const unsigned first = next();
      const unsigned code = first >> 3 & 15;
      end += 2 * ((first & 7) + 1);
      line += delta_of(code);
      while (at_ < bytes_.size() && (static_cast<unsigned char>(bytes_[at_]) & 0x80) == 0) ++at_;  // columns
      if (instruction < end) return code == kNoLocation ? 0 : as_line(line);
    }
    return 0;
  }

 private:
  static constexpr unsigned kNoLocation = 15, kLong = 14, kNoColumns = 13, kOneLine = 10;

  unsigned next() { return at_ < bytes_.size() ? static_cast<unsigned char>(bytes_[at_++]) : 0; }
  std::int64_t delta_of(unsigned code) {
    if (code == kLong || code == kNoColumns) return next_signed();
    return code >= kOneLine && code < kNoColumns ? std::int64_t{code} - kOneLine : 0;
  }
  // 6 bits a byte, the lowest first; the lowest bit of all is the sign.
  std::int64_t next_signed() {
    std::uint64_t value = 0;
    unsigned byte = 0;
    unsigned shift = 0;
    do {
      byte = next();
      if (shift < 36) value |= std::uint64_t{byte & 63} << shift;
      shift += 6;
    } while ((byte & 64) != 0);
    const auto size = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -size : size;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string utf8_of(std::string_view stored, unsigned bytes_each) {
  std::string text;
  text.reserve(stored.size() + stored.size() / 2);
  for (std::size_t at = 0; at + bytes_each <= stored.size(); at += bytes_each) {
    std::uint32_t character = 0;
    std::memcpy(&character, stored.data() + at, bytes_each);
    append_utf8(text, character);
  }
  return text;
}

template <class Reader>
bool read_code(const PythonLayout& layout, std::uint64_t code, CodeText& text) {
  std::uint64_t file = 0, name = 0, lines = 0;
  return Reader::read(code + layout.code_file, &file, 8) && Reader::read(code + layout.code_name, &name, 8) &&
         Reader::read(code + layout.code_lines, &lines, 8) &&
         Reader::read(code + layout.code_first_line, &text.first_line, 4) &&
         read_string<Reader>(layout, file, text.file) && read_string<Reader>(layout, name, text.function) &&
         read_bytes<Reader>(lines, text.lines);
}
template bool read_code<DirectReader>(const PythonLayout&, std::uint64_t, CodeText&);
template bool read_code<SafeReader>(const PythonLayout&, std::uint64_t, CodeText&);

std::uint32_t line_of(int minor, const CodeText& text, std::int32_t instruction) {
  if (instruction < 0) return as_line(text.first_line);
  if (minor == 10) return line_of_3_10(text, instruction);
  return LocationTable(text.lines).find(text.first_line, instruction);
}

}  // namespace stepscope::agent

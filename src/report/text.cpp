// UTF-8 walked one code point at a time; every function here is linear in its text.
#include "report/text.h"

#include <algorithm>
#include <cstdint>

namespace stepscope {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "…";

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

std::size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

CodePoint decode(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = sequence_length(lead);
  if (length == 1) return {lead, 1, true};
  if (length == 0 || at + length > text.size()) return {};
  std::uint32_t value = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0U) != 0x80) return {};
    value = value << 6U | (next & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, length, true};
}

struct Range {
  std::uint32_t first, last;
};

bool in_any(std::uint32_t value, const Range* begin, const Range* end) {
  return std::any_of(begin, end, [value](Range range) { return value >= range.first && value <= range.last; });
}

std::size_t width_of(std::uint32_t value) {
  static constexpr Range kZero[] = {{0x300, 0x36F},   {0x483, 0x489},    {0x591, 0x5BD},   {0x610, 0x61A},
                                    {0x64B, 0x65F},   {0x1AB0, 0x1AFF},  {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
                                    {0x20D0, 0x20FF}, {0x2060, 0x2064},  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
                                    {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF}};
  static constexpr Range kWide[] = {{0x1100, 0x115F},   {0x231A, 0x231B},  {0x23E9, 0x23EC},   {0x2E80, 0x303E},
                                    {0x3041, 0x33FF},   {0x3400, 0x4DBF},  {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                                    {0xA960, 0xA97F},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                                    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                                    {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};
  if (value < 0x300) return 1;
  if (in_any(value, std::begin(kZero), std::end(kZero))) return 0;
  return in_any(value, std::begin(kWide), std::end(kWide)) ? 2 : 1;
}

bool is_control(std::uint32_t value) {
  return value < 0x20 || (value >= 0x7F && value < 0xA0) || value == 0x061C || value == 0x200E || value == 0x200F ||
         (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069) || value == 0x2028 ||
         value == 0x2029;
}

bool is_space_control(std::uint32_t value) { return value == '\t' || value == '\n' || value == '\r'; }

// Bytes of the longest head of `text` that takes at most `width` columns.
std::size_t head_bytes(std::string_view text, std::size_t width) {
  std::size_t at = 0, used = 0;
  while (at < text.size()) {
    const CodePoint point = decode(text, at);
    const std::size_t columns = width_of(point.value);
    if (used + columns > width) break;
    used += columns;
    at += point.bytes;
  }
  return at;
}

// Byte at which the longest tail of at most `width` columns begins.
std::size_t tail_start(std::string_view text, std::size_t width) {
  std::size_t at = text.size(), used = 0;
  while (at > 0) {
    std::size_t before = at - 1;
    while (before > 0 && (static_cast<unsigned char>(text[before]) & 0xC0U) == 0x80) --before;
    const std::size_t columns = width_of(decode(text, before).value);
    if (used + columns > width) break;
    used += columns;
    at = before;
  }
  return at;
}

// Where a word that is longer than a line breaks: after the last punctuation mark in its second half, else at
// the edge.
std::size_t break_of_long_word(std::string_view word, std::size_t width) {
  const std::size_t edge = std::max<std::size_t>(head_bytes(word, width), decode(word, 0).bytes);
  const std::size_t mark = word.substr(0, edge).find_last_of("/,;:._-<>()=&");
  return mark != std::string_view::npos && mark + 1 > edge / 2 ? mark + 1 : edge;
}

class Wrapper {
 public:
  explicit Wrapper(std::size_t width) : width_(std::max<std::size_t>(width, 1)) {}

  void add(std::string_view word) {
    const std::size_t columns = display_width(word);
    if (used_ > 0 && used_ + 1 + columns > width_) end_line();
    while (used_ == 0 && display_width(word) > width_) {
      const std::size_t cut = break_of_long_word(word, width_);
      line_ = word.substr(0, cut);
      end_line();
      word.remove_prefix(cut);
    }
    if (word.empty()) return;
    if (used_ > 0) line_ += ' ';
    line_ += word;
    used_ = display_width(line_);
  }

  std::vector<std::string> finish() {
    if (used_ > 0 || lines_.empty()) end_line();
    return std::move(lines_);
  }

 private:
  void end_line() {
    lines_.push_back(std::move(line_));
    line_.clear();
    used_ = 0;
  }

  std::size_t width_;
  std::size_t used_ = 0;
  std::string line_;
  std::vector<std::string> lines_;
};

// "%", "ms", "GiB," and the like: a number keeps its unit on its line.
bool is_unit(std::string_view word) {
  const std::size_t end = word.find_last_not_of(".,;:)");
  if (end == std::string_view::npos) return false;
  word = word.substr(0, end + 1);
  for (const std::string_view unit : {"%", "ms", "us", "ns", "s", "B", "KiB", "MiB", "GiB", "MB", "GB", "TFLOP/s"}) {
    if (word == unit) return true;
  }
  return false;
}

bool ends_in_digit(std::string_view word) { return !word.empty() && word.back() >= '0' && word.back() <= '9'; }

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode(text, at);
    width += point.valid ? width_of(point.value) : 1;
    at += point.bytes;
  }
  return width;
}

std::string clean_text(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    const CodePoint point = decode(raw, at);
    if (!point.valid || (is_control(point.value) && !is_space_control(point.value))) {
      out += kReplacement;
    } else if (is_space_control(point.value)) {
      out += ' ';
    } else {
      out += raw.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return out;
}

std::string shorten_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  const std::size_t head = (width - 1 + 1) / 2;
  std::string out(text.substr(0, head_bytes(text, head)));
  out += kEllipsis;
  out += text.substr(tail_start(text, width - 1 - std::min(head, width - 1)));
  return out;
}

std::string shorten_end(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string out(text.substr(0, head_bytes(text, width - 1)));
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out + std::string(kEllipsis);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::vector<std::string> wrap_text(std::string_view text, std::size_t width) {
  Wrapper wrapper(width);
  std::string pending;  // a word that may be joined by the unit behind it
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (is_unit(word) && ends_in_digit(pending)) {
      pending += ' ';
      pending += word;
    } else if (end > 0) {
      if (!pending.empty()) wrapper.add(pending);
      pending = word;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!pending.empty()) wrapper.add(pending);
  return wrapper.finish();
}

std::string_view nearest_word(std::string_view typed, const std::vector<std::string_view>& words) {
  constexpr std::size_t kLongestTyped = 64;  // longer is no typing mistake
  if (typed.size() > kLongestTyped) return {};
  std::string_view nearest;
  // Half of the word may be wrong: "reprot", "rep", but not any word for any other.
  std::size_t least = typed.size() / 2 + 1;
  for (const std::string_view word : words) {
    const bool is_start = !typed.empty() && word.starts_with(typed);
    const std::size_t distance = is_start ? 0 : edit_distance(typed, word);
    if (distance >= least) continue;
    least = distance;
    nearest = word;
  }
  return nearest;
}

}  // namespace stepscope

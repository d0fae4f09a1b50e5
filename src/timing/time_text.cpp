// snprintf, since GCC 12 has no std::format.
#include "timing/time_text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace stepscope {

TimeUnit TimeUnit::pick(double ns) {
  static constexpr std::array<TimeUnit, 4> kUnits = {
      {{1, "ns", "nanoseconds"}, {1e3, "us", "microseconds"}, {1e6, "ms", "milliseconds"}, {1e9, "s", "seconds"}}};
  constexpr double kShownAs1000 = 999.995;
  const auto* fits =
      std::find_if(kUnits.begin(), kUnits.end() - 1, [&](const TimeUnit& unit) { return ns / unit.ns < kShownAs1000; });
  return *fits;
}

std::string show_fixed(double value, int decimals) {
  const int length = std::snprintf(nullptr, 0, "%.*f", decimals, value);
  std::string text(static_cast<std::size_t>(std::max(0, length)) + 1, '\0');
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  text.pop_back();
  return text;
}

std::string show_time(double ns, int decimals) {
  const TimeUnit unit = TimeUnit::pick(ns);
  return show_fixed(ns / unit.ns, decimals) + " " + unit.symbol;
}

std::string show_ratio(double ratio) { return show_fixed(ratio * 100, 1) + " %"; }

std::string show_counted(std::size_t count, const char* singular, const char* plural) {
  return std::to_string(count) + " " + (count == 1 ? singular : plural);
}

std::size_t text_columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& byte : line) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F) byte = ' ';
  }
  return line;
}

std::vector<std::string> wrap_words(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!lines.back().empty() && text_columns(lines.back()) + 1 + text_columns(word) > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string show_warning(std::string_view sentence) {
  constexpr std::string_view kHead = "  WARNING: ";
  constexpr std::size_t kColumns = 80;
  std::string text;
  for (const std::string& line : wrap_words(sentence, kColumns - kHead.size())) {
    text += text.empty() ? std::string(kHead) : std::string(kHead.size(), ' ');
    text += line + "\n";
  }
  return text;
}

std::string indented(std::string_view text, std::string_view indent) {
  std::string out(indent);
  for (const char byte : text) {
    out += byte;
    if (byte == '\n') out += indent;
  }
  return out;
}

}  // namespace stepscope

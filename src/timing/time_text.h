// Numbers and names as the texts of this room show them: a time in the unit that fits, a label on one line.
//
// report/numbers.h knows more, but needs a library (fmt) that programs which link this one need not have.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

struct TimeUnit {
  double ns = 1;
  const char* symbol = "ns";
  const char* word = "nanoseconds";

  // The unit in which `ns` is at least 1 and, shown with two decimals, under 1000; ns for less, s for more.
  [[nodiscard]] static TimeUnit pick(double ns);
};

[[nodiscard]] std::string show_fixed(double value, int decimals);  // "5.73"
[[nodiscard]] std::string show_time(double ns, int decimals = 2);  // "5.73 us"
[[nodiscard]] std::string show_ratio(double ratio);                // "39.4 %"
// "1 block", "3 blocks"
[[nodiscard]] std::string show_counted(std::size_t count, const char* singular, const char* plural);

// Columns on a terminal, counted as one a code point: labels of wide characters push their row out of line.
[[nodiscard]] std::size_t text_columns(std::string_view text);
// Control characters, line ends among them, become spaces.
[[nodiscard]] std::string one_line(std::string_view text);
// Lines of at most `width` columns, broken at spaces; a longer word stays whole. At least one line.
[[nodiscard]] std::vector<std::string> wrap_words(std::string_view text, std::size_t width);
// "  WARNING: " and the sentence in lines of at most 80 columns, each ending in a newline.
[[nodiscard]] std::string show_warning(std::string_view sentence);
// Each line of `text` with `indent` before it, no newline at the end.
[[nodiscard]] std::string indented(std::string_view text, std::string_view indent);

}  // namespace stepscope

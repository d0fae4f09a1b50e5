// Text as a terminal shows it: how many columns it takes, how it is made safe, shortened and wrapped.
//
// Names come from files and are hostile: escape sequences, control characters, half a UTF-8 sequence. clean_text turns
// them into something that can be printed anywhere, so every name passes through it once, where the report is
// built. Widths follow Unicode's East Asian Width in coarse ranges (wide 2, combining 0, else 1): wcwidth of
// the C library was rejected because it depends on the locale, and in "C" knows ASCII only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Columns on a terminal. `text` is valid UTF-8 (see clean_text).
[[nodiscard]] std::size_t display_width(std::string_view text);

// Valid UTF-8 without control characters: invalid bytes become U+FFFD, control characters (also C1 and the
// direction overrides, which can disguise a name) a space or U+FFFD.
[[nodiscard]] std::string clean_text(std::string_view raw);

// At most `width` columns; what is cut out in the middle (or at the end) becomes one "…".
[[nodiscard]] std::string shorten_middle(std::string_view text, std::size_t width);
[[nodiscard]] std::string shorten_end(std::string_view text, std::size_t width);

[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);

// Lines of at most `width` columns, broken at spaces; a word longer than a line is broken after a punctuation
// mark where there is one, else anywhere. A number keeps its unit ("52 %"); U+00A0 is never broken at and stays
// as it is. At least one line.
[[nodiscard]] std::vector<std::string> wrap_text(std::string_view text, std::size_t width);

// The nearest of `words` by edit distance, for "did you mean"; empty when none is near.
[[nodiscard]] std::string_view nearest_word(std::string_view typed, const std::vector<std::string_view>& words);

}  // namespace stepscope

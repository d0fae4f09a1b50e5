// Text inside JSON: the one place where strings are escaped.
//
// Names come from programs: kernels with quotes and templates, file names of other code pages, whatever a user labels a
// span with. What is written must open in every viewer, so the result is always valid JSON in valid UTF-8, and may be
// put inside a <script> element of a page as it is:
//   - quotes, backslashes and control characters are escaped;
//   - U+2028 and U+2029, which end a line in JavaScript, are escaped;
//   - `<` before `/` or `!` is escaped, so that no `</script>` and no `<!--` can appear;
//   - each broken piece of UTF-8 becomes one U+FFFD, as browsers and Python do. JSON has no way to keep the bytes that
//     all readers accept (lone surrogates, as Python writes them, are refused by half of the parsers).
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// Appends `text` as a JSON string, with its quotes.
void append_json_string(std::string_view text, std::string& into);
// Appends `text` with each broken piece of UTF-8 as one U+FFFD, otherwise as it is.
void append_valid_utf8(std::string_view text, std::string& into);
// The text can stand between quotes as it is.
[[nodiscard]] bool is_plain_json_text(std::string_view text);
// The text is one JSON value (by RFC 8259, at most 64 levels deep) and has none of the characters above that would have
// to be escaped in a page: it can be written as it is.
[[nodiscard]] bool is_json_value(std::string_view text);
// The text is a whole number as JSON writes it, of at most 18 digits, which every reader takes as an integer.
[[nodiscard]] bool is_json_integer(std::string_view text);

}  // namespace stepscope

// JSON's backslash escapes, and what happens to strings whose writer forgot them.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::chrome_json {

// Decodes `text` into `into`. Returns the number of invalid escapes; if there is any, `into` is `text` as it
// stands: a writer that forgot to escape a Windows path forgot it for every backslash in it, and reading the
// valid-looking half would turn `C:\temp\new` into a tab and a new line.
std::size_t decode_escapes(std::string_view text, std::string& into);

// Has bytes that JSON forbids in a string: control characters, or bytes that are no UTF-8.
[[nodiscard]] bool has_forbidden_bytes(std::string_view text);

}  // namespace stepscope::chrome_json

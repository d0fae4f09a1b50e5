// Text as protocol 0 writes it: one line of escapes.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::snapshot_reading {

// The operand of UNICODE, Python's raw-unicode-escape, as UTF-8: \uXXXX and \UXXXXXXXX are characters, bytes over 127
// are Latin-1. Half an escape stays as it is written.
[[nodiscard]] std::string text_of_raw_escapes(std::string_view line);
// The operand of STRING without its quotes, escaped as Python prints a str. Unknown escapes stay as they are written.
[[nodiscard]] std::string text_of_repr(std::string_view line);

}  // namespace stepscope::snapshot_reading

// What is kept of a code object, copied while it lives: the worker gives lines to instructions long after it is gone.
#pragma once

#include <string>
#include <string_view>

#include "agent/python_layout.h"
#include "agent/python_walk.h"

namespace stepscope::agent {

struct CodeText {
  std::string file, function;  // UTF-8; function is the qualified name from 3.11 on
  std::string lines;           // the line table as CPython has it
  std::int32_t first_line = 0;
};

// Copies what `code` points to. False: it cannot be read, or is not what a code object holds.
template <class Reader>
[[nodiscard]] bool read_code(const PythonLayout& layout, std::uint64_t code, CodeText& text);

// Line of an instruction (offset in bytes); 0: it has none, or the table is damaged.
[[nodiscard]] std::uint32_t line_of(int minor, const CodeText& text, std::int32_t instruction);

// UTF-8 of characters that are stored in 1, 2 or 4 bytes each. Halves of surrogate pairs become U+FFFD.
[[nodiscard]] std::string utf8_of(std::string_view stored, unsigned bytes_each);

}  // namespace stepscope::agent

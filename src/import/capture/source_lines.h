// File and line by address, out of DWARF's line tables (.debug_line, versions 2 to 5).
//
// The table alone says which line an instruction belongs to; that is all an allocation's place needs. What it does not
// say is who called an inlined function: the line is then that of the header in which cudaMalloc<T>() or a container is
// written (is_library_source), and no line of the program's. Taking the nearest line before it was tried and named the
// statement before. Rejected: reading .debug_info for inlined calls (a reader of some twenty forms and of
// abbreviations), a library for it (elf_file.h), and addr2line (it is not on machines that only run programs).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/capture/elf_file.h"

namespace stepscope::native {

struct SourceLine {
  std::string file;  // as the compiler was told it; absolute where the table says in which folder
  std::uint32_t line = 0;
  bool operator==(const SourceLine&) const = default;
};

// `addresses` sorted. Compressed tables are not read, nor larger ones than 256 MiB.
[[nodiscard]] std::vector<std::optional<SourceLine>> find_lines(const ElfFile& file,
                                                                const std::vector<std::uint64_t>& addresses);

// A header of the compiler, the C++ library or CUDA, by its path.
[[nodiscard]] bool is_library_source(std::string_view path);

}  // namespace stepscope::native

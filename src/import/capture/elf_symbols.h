// Functions by address, out of .symtab, or where that was stripped out of .dynsym.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/capture/elf_file.h"

namespace stepscope::native {

// The function around each address, as the file names it (mangled); empty where none covers it. `addresses` sorted.
[[nodiscard]] std::vector<std::string> find_symbols(const ElfFile& file, const std::vector<std::uint64_t>& addresses);

// C++ as a person writes it; what is no mangled name, or one too long to be a person's, stays as it is.
[[nodiscard]] std::string readable_symbol(const std::string& name);

}  // namespace stepscope::native

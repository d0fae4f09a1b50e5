// Reads three pieces of an ELF file: the section headers, the symbol table, its strings. Every offset and size comes
// from the file and is checked against its length before it is used.
#include "session/module_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>

namespace stepscope {
namespace {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : file_(path, std::ios::binary | std::ios::ate) {
    size_ = file_ ? static_cast<std::uint64_t>(file_.tellg()) : 0;
  }

  // `count` values from `offset` on; nothing if the file is shorter.
  template <class T>
  std::vector<T> read(std::uint64_t offset, std::uint64_t count) {
    std::vector<T> out;
    if (offset > size_ || count > (size_ - offset) / sizeof(T)) return out;
    out.resize(count);
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(count * sizeof(T)));
    if (!file_) out.clear();
    return out;
  }

 private:
  std::ifstream file_;
  std::uint64_t size_ = 0;
};

// Of a 64-bit file in this machine's byte order, which is what can be loaded here.
std::vector<Elf64_Shdr> read_sections(ElfFile& file) {
  const auto header = file.read<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_shentsize != sizeof(Elf64_Shdr)) {
    return {};
  }
  return file.read<Elf64_Shdr>(header[0].e_shoff, header[0].e_shnum);
}

}  // namespace

ModuleSymbols ModuleSymbols::read(const std::string& path) {
  ModuleSymbols out;
  ElfFile file(path);
  const std::vector<Elf64_Shdr> sections = read_sections(file);
  const auto table = std::find_if(sections.begin(), sections.end(),
                                  [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
  if (table == sections.end() || table->sh_link >= sections.size()) return out;
  const Elf64_Shdr& strings = sections[table->sh_link];
  const std::vector<char> text = file.read<char>(strings.sh_offset, strings.sh_size);
  out.names_.assign(text.begin(), text.end());
  out.names_.push_back('\0');
  for (const Elf64_Sym& symbol : file.read<Elf64_Sym>(table->sh_offset, table->sh_size / sizeof(Elf64_Sym))) {
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
    if (!is_function || symbol.st_size == 0 || symbol.st_name >= out.names_.size()) continue;
    if (symbol.st_value > UINT64_MAX - symbol.st_size) continue;
    out.functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, symbol.st_name});
  }
  std::sort(out.functions_.begin(), out.functions_.end(),
            [](const Function& a, const Function& b) { return a.begin < b.begin; });
  return out;
}

std::string_view ModuleSymbols::find(std::uint64_t address) const {
  const auto after = std::upper_bound(functions_.begin(), functions_.end(), address,
                                      [](std::uint64_t at, const Function& function) { return at < function.begin; });
  if (after == functions_.begin()) return {};
  const Function& function = *std::prev(after);
  return address < function.end ? std::string_view(names_.c_str() + function.name) : std::string_view();
}

}  // namespace stepscope

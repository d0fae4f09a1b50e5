// One walk over the table for all addresses; nothing of it is kept but the best match of each. A function covers what
// its size says. Hand-written code has symbols without a size: those cover what lies up to the next symbol, if nothing
// with a size does.
#include "import/capture/elf_symbols.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace stepscope::native {
namespace {

// libtorch's is 200 MB where it is not stripped. Past this there are no names.
constexpr std::uint64_t kMostTableBytes = 512U << 20;
constexpr std::size_t kMostNameBytes = 4096;
// How far a symbol without a size reaches: no hand-written function is longer.
constexpr std::uint64_t kFarthest = 4096;
// Steps over addresses; a table of overlapping symbols (none of a linker's) would take their product.
constexpr std::uint64_t kMostSteps = 100'000'000;

struct Match {
  std::uint64_t start = 0;
  std::uint32_t name = 0;
  bool is_found = false, has_size = false, is_global = false;
};

bool is_code(const ElfFile& file, const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return false;
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < file.sections().size() &&
         (file.sections()[symbol.st_shndx].flags & SHF_EXECINSTR) != 0;
}

// Of names for one place the exported one is what people know.
bool is_better(const Match& now, const Elf64_Sym& symbol) {
  if (!now.is_found) return true;
  const bool has_size = symbol.st_size > 0;
  if (now.has_size != has_size) return has_size;
  if (now.start != symbol.st_value) return symbol.st_value > now.start;
  return !now.is_global && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL;
}

void offer(const Elf64_Sym& symbol, const std::vector<std::uint64_t>& addresses, std::vector<Match>& matches,
           std::uint64_t& steps) {
  auto at = std::lower_bound(addresses.begin(), addresses.end(), symbol.st_value);
  for (; at != addresses.end() && steps < kMostSteps; ++at, ++steps) {
    const std::uint64_t inside = *at - symbol.st_value;
    if (symbol.st_size > 0 ? inside >= symbol.st_size : inside >= kFarthest) break;
    Match& match = matches[static_cast<std::size_t>(at - addresses.begin())];
    if (!is_better(match, symbol)) continue;
    match = {symbol.st_value, symbol.st_name, true, symbol.st_size > 0, ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL};
  }
}

bool fill_from(const ElfFile& file, std::uint32_t type, const std::vector<std::uint64_t>& addresses,
               std::vector<std::string>& names) {
  const auto& sections = file.sections();
  const auto table =
      std::find_if(sections.begin(), sections.end(), [&](const auto& each) { return each.type == type; });
  if (table == sections.end() || table->link >= sections.size()) return false;
  const std::vector<std::uint8_t> symbols = file.read(*table, kMostTableBytes);
  const std::vector<std::uint8_t> texts = file.read(sections[table->link], kMostTableBytes);
  if (symbols.empty() || texts.empty()) return false;
  std::vector<Match> matches(addresses.size());
  std::uint64_t steps = 0;
  for (std::size_t at = 0; symbols.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.data() + at, sizeof symbol);
    if (is_code(file, symbol)) offer(symbol, addresses, matches, steps);
  }
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (!matches[i].is_found || matches[i].name >= texts.size() || !names[i].empty()) continue;
    const auto begin = texts.begin() + matches[i].name;
    const auto limit = begin + std::min<std::ptrdiff_t>(texts.end() - begin, kMostNameBytes);
    names[i].assign(begin, std::find(begin, limit, std::uint8_t{0}));
  }
  return true;
}

}  // namespace

std::vector<std::string> find_symbols(const ElfFile& file, const std::vector<std::uint64_t>& addresses) {
  std::vector<std::string> names(addresses.size());
  if (!addresses.empty() && !fill_from(file, SHT_SYMTAB, addresses, names)) {
    (void)fill_from(file, SHT_DYNSYM, addresses, names);
  }
  return names;
}

std::string readable_symbol(const std::string& name) {
  // The demangler expands back references: longer names make it slow, and nobody reads them.
  constexpr std::size_t kLongest = 1024;
  if (!name.starts_with("_Z") || name.size() > kLongest) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && readable != nullptr ? std::string(readable.get()) : name;
}

}  // namespace stepscope::native

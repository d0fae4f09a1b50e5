// For tests: an ELF file with two functions, a line table of DWARF 5 or 4 and a build id, made byte by byte.
//
//   0x1000  _ZN4loop12make_buffersEi  16 bytes   plain.cu:31, from 0x1008 on cuda_runtime.h:800
//   0x1010  main                      16 bytes   plain.cu:37, from 0x1018 on plain.cu:38
//   0x1020  hand_written, without a size
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace stepscope::native {

inline constexpr std::string_view kMadeBuildId = "c0ffee00";

class MadeElf {
 public:
  int dwarf = 5;
  bool has_symbols = true, has_lines = true, has_id = true;
  std::uint64_t line_flags = 0;  // of the section

  [[nodiscard]] std::string bytes() const {
    std::string names(1, '\0'), data(sizeof(Elf64_Ehdr), '\0');
    std::vector<Elf64_Shdr> headers(1);
    const auto add = [&](std::string_view name, std::uint32_t type, std::uint64_t flags, const std::string& content,
                         std::uint32_t link = 0) {
      Elf64_Shdr header{};
      header.sh_name = static_cast<Elf64_Word>(names.size());
      names.append(name).push_back('\0');
      header.sh_type = type;
      header.sh_flags = flags;
      header.sh_offset = data.size();
      header.sh_size = content.size();
      header.sh_link = link;
      data += content;
      headers.push_back(header);
    };
    add(".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, "");
    if (has_id) add(".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note());
    if (has_symbols) {
      std::string texts(1, '\0');
      const std::string table = symbols(texts);
      add(".symtab", SHT_SYMTAB, 0, table, static_cast<std::uint32_t>(headers.size()) + 1);
      add(".strtab", SHT_STRTAB, 0, texts);
    }
    if (has_lines) {
      std::string texts;
      const std::string table = lines(texts);
      add(".debug_line", SHT_PROGBITS, line_flags, table);
      add(".debug_line_str", SHT_PROGBITS, 0, texts);
    }
    add(".shstrtab", SHT_STRTAB, 0, names + ".shstrtab" + std::string(1, '\0'));
    return with_headers(data, headers);
  }

 private:
  static void put(std::string& to, std::uint64_t number, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) to += static_cast<char>(number >> (8 * i));
  }
  static std::string with_headers(std::string data, const std::vector<Elf64_Shdr>& headers) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(headers.size());
    header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
    header.e_shoff = data.size();
    std::memcpy(data.data(), &header, sizeof header);
    data.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
    return data;
  }
  static std::string note() {
    std::string out;
    put(out, 4, 4);
    put(out, 4, 4);
    put(out, NT_GNU_BUILD_ID, 4);
    return out + std::string("GNU\0\xC0\xFF\xEE\0", 8);
  }
  static std::string symbols(std::string& texts) {
    std::string out(sizeof(Elf64_Sym), '\0');
    const auto add = [&](std::string_view name, std::uint64_t at, std::uint64_t size, unsigned char type) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<Elf64_Word>(texts.size());
      texts.append(name).push_back('\0');
      symbol.st_value = at;
      symbol.st_size = size;
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, type);
      symbol.st_shndx = 1;
      out.append(reinterpret_cast<const char*>(&symbol), sizeof symbol);
    };
    add("_ZN4loop12make_buffersEi", 0x1000, 16, STT_FUNC);
    add("main", 0x1010, 16, STT_FUNC);
    add("hand_written", 0x1020, 0, STT_NOTYPE);
    return out;
  }
  // Three rows a function by extended, standard and special opcodes.
  static std::string program() {
    std::string out("\0\x09\x02", 3);
    put(out, 0x1000, 8);
    out += std::string("\x03\x1E\x01", 3);          // line 31
    out += std::string("\x04\x02\x03\x81\x06", 5);  // file 2, line 800
    out += std::string("\x02\x08\x01", 3);          // 8 bytes on
    out += std::string("\x04\x01\x03\x85\x7A", 5);  // file 1, line 37
    out += std::string("\x02\x08\x01", 3);
    out += static_cast<char>(13 + 14 * 8 + 6);  // special: 8 bytes and 1 line on
    out += std::string("\x09\x08\x00", 3);      // 8 bytes on, by a fixed step
    out += std::string("\0\x01\x01", 3);        // the end
    return out;
  }
  [[nodiscard]] std::string lines(std::string& texts) const {
    std::string header;
    put(header, 1, 1);
    if (dwarf >= 4) put(header, 1, 1);
    put(header, 1, 1);
    put(header, 0xFB, 1);  // line base -5
    put(header, 14, 1);
    put(header, 13, 1);
    header += std::string("\0\1\1\1\1\0\0\0\1\0\0\1", 12);
    if (dwarf >= 5) {
      texts = std::string("/work/user\0plain.cu\0/usr/local/cuda/include\0cuda_runtime.h\0", 59);
      header += std::string("\1\1\x1F\2", 4);
      put(header, 0, 4);
      put(header, 20, 4);
      header += std::string("\2\1\x1F\2\x0B\3", 6);
      for (const auto& [name, folder] : {std::pair{11, 0}, {11, 0}, {44, 1}}) {
        put(header, static_cast<std::uint64_t>(name), 4);
        put(header, static_cast<std::uint64_t>(folder), 1);
      }
    } else {
      header += std::string("/usr/local/cuda/include\0\0plain.cu\0\0\0\0cuda_runtime.h\0\1\0\0\0", 56);
    }
    std::string unit;
    put(unit, static_cast<std::uint64_t>(dwarf), 2);
    if (dwarf >= 5) put(unit, 0x0008, 2);
    put(unit, header.size(), 4);
    unit += header + program();
    std::string out;
    put(out, unit.size(), 4);
    return out + unit;
  }
};

}  // namespace stepscope::native

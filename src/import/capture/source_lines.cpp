// A line program is a list of instructions that make rows (address, file, line) in order of address; each unit of the
// table has one. All of them are run, and nothing is kept but the lines of the addresses that are asked for.
#include "import/capture/source_lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace stepscope::native {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t kMostTableBytes = 256U << 20;
constexpr std::size_t kMostPathBytes = 4096;
// Of one unit; the table's bytes bound it as well, but an entry of a damaged header may have no bytes at all.
constexpr std::uint64_t kMostFiles = 1U << 20;
// Rows over addresses; a table of overlapping units (none of a compiler's) would take their product.
constexpr std::uint64_t kMostSteps = 100'000'000;

// Reads forward; past the end everything is 0 and `ok` is false.
struct Cursor {
  Bytes bytes;
  std::size_t at = 0;
  bool ok = true;

  [[nodiscard]] std::size_t left() const { return bytes.size() - at; }
  std::uint64_t fixed(std::size_t size) {
    if (size > left() || size > 8) {
      ok = false;
      at = bytes.size();
      return 0;
    }
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < size; ++i) number |= std::uint64_t{bytes[at + i]} << (8 * i);
    at += size;
    return number;
  }
  std::uint64_t uleb() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; ok; shift += 7) {
      const std::uint64_t byte = fixed(1);
      if (shift < 64) number |= (byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) break;
    }
    return number;
  }
  std::int64_t sleb() {
    std::uint64_t number = 0;
    unsigned shift = 0;
    std::uint64_t byte = 0;
    do {
      byte = fixed(1);
      if (shift < 64) number |= (byte & 0x7F) << shift;
      shift += 7;
    } while (ok && (byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) number |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(number);
  }
  std::string_view text() {
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = std::find(begin, bytes.end(), std::uint8_t{0});
    if (end == bytes.end()) {
      ok = false;
      at = bytes.size();
      return {};
    }
    const auto size = static_cast<std::size_t>(end - begin);
    at += size + 1;
    return {reinterpret_cast<const char*>(bytes.data()) + at - size - 1, size};
  }
  void skip(std::uint64_t size) {
    if (size > left()) ok = false;
    at += std::min<std::uint64_t>(size, left());
  }
};

std::string_view text_in(const std::vector<std::uint8_t>& section, std::uint64_t at) {
  Cursor cursor{section, static_cast<std::size_t>(std::min<std::uint64_t>(at, section.size()))};
  return cursor.text();
}

struct FileName {
  std::string_view name;
  std::uint64_t folder = 0;
};

struct Unit {
  unsigned version = 0, offset_bytes = 4, address_bytes = 8;
  std::uint64_t least_instruction = 1;
  std::int64_t line_base = 0;
  std::uint64_t line_range = 1, opcode_base = 1;
  std::array<std::uint8_t, 256> operand_counts{};
  std::vector<std::string_view> folders;
  std::vector<FileName> files;
};

struct Sections {
  std::vector<std::uint8_t> lines, line_texts, texts;
};

// DWARF 5: a list of entries whose fields are described in front of them.
constexpr std::uint64_t kPath = 1, kFolder = 2;
bool read_entries(Cursor& in, const Unit& unit, const Sections& sections, std::vector<FileName>& into) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> fields(in.fixed(1));
  for (auto& [content, form] : fields) {
    content = in.uleb();
    form = in.uleb();
  }
  const std::uint64_t count = in.uleb();
  if (count > kMostFiles || (fields.empty() && count > 0)) return false;
  for (std::uint64_t i = 0; i < count && in.ok; ++i) {
    FileName entry;
    for (const auto& [content, form] : fields) {
      std::string_view text;
      std::uint64_t number = 0;
      switch (form) {
        case 0x08:  // string
          text = in.text();
          break;
        case 0x1F:  // line_strp
          text = text_in(sections.line_texts, in.fixed(unit.offset_bytes));
          break;
        case 0x0E:  // strp
          text = text_in(sections.texts, in.fixed(unit.offset_bytes));
          break;
        case 0x0F:  // udata
          number = in.uleb();
          break;
        case 0x0B:  // data1, data2, data4, data8, data16
          number = in.fixed(1);
          break;
        case 0x05:
          number = in.fixed(2);
          break;
        case 0x06:
          number = in.fixed(4);
          break;
        case 0x07:
          number = in.fixed(8);
          break;
        case 0x1E:
          in.skip(16);
          break;
        case 0x09:  // block
          in.skip(in.uleb());
          break;
        default:
          return false;
      }
      if (content == kPath) entry.name = text;
      if (content == kFolder) entry.folder = number;
    }
    into.push_back(entry);
  }
  return in.ok;
}

bool read_names_5(Cursor& in, const Sections& sections, Unit& unit) {
  std::vector<FileName> folders;
  if (!read_entries(in, unit, sections, folders) || !read_entries(in, unit, sections, unit.files)) return false;
  for (const FileName& folder : folders) unit.folders.push_back(folder.name);
  return true;
}

// Before 5: folder 0 and file 0 are those of .debug_info, and not here.
bool read_names_4(Cursor& in, Unit& unit) {
  unit.folders.emplace_back();
  for (std::string_view folder = in.text(); in.ok && !folder.empty(); folder = in.text())
    unit.folders.push_back(folder);
  unit.files.emplace_back();
  for (std::string_view name = in.text(); in.ok && !name.empty(); name = in.text()) {
    unit.files.push_back({name, in.uleb()});
    (void)in.uleb();  // when it was changed, and its size
    (void)in.uleb();
  }
  return in.ok;
}

std::string path_of(const Unit& unit, std::uint64_t number) {
  if (number >= unit.files.size()) return "";
  const FileName& file = unit.files[number];
  std::string path(file.name.substr(0, kMostPathBytes));
  const auto put_before = [&](std::uint64_t folder) {
    if (path.starts_with('/') || folder >= unit.folders.size() || unit.folders[folder].empty()) return;
    path = std::string(unit.folders[folder].substr(0, kMostPathBytes)) + "/" + path;
  };
  put_before(file.folder);
  if (unit.version >= 5) put_before(0);  // a folder's own name is relative to that of the compilation
  return path;
}

class Finder {
 public:
  Finder(const std::vector<std::uint64_t>& addresses, const Sections& sections)
      : addresses_(addresses), sections_(sections), found_(addresses.size()) {}

  std::vector<std::optional<SourceLine>> find() && {
    Cursor table{sections_.lines};
    while (table.ok && table.left() > 4) {
      unsigned offset_bytes = 4;
      std::uint64_t length = table.fixed(4);
      if (length == 0xFFFFFFFF) {
        offset_bytes = 8;
        length = table.fixed(8);
      }
      if (!table.ok || length > table.left()) break;
      read_unit({table.bytes.subspan(table.at, length)}, offset_bytes);
      table.skip(length);
    }
    return std::move(found_);
  }

 private:
  struct Row {
    std::uint64_t address = 0, file = 1, line = 1;
  };

  void read_unit(Cursor in, unsigned offset_bytes) {
    Unit unit;
    unit.offset_bytes = offset_bytes;
    unit.version = static_cast<unsigned>(in.fixed(2));
    if (unit.version < 2 || unit.version > 5) return;
    if (unit.version >= 5) {
      unit.address_bytes = static_cast<unsigned>(in.fixed(1));
      (void)in.fixed(1);  // size of a segment's number
    }
    const std::uint64_t header_bytes = in.fixed(offset_bytes);
    if (!in.ok || header_bytes > in.left()) return;
    const std::size_t program = in.at + header_bytes;
    unit.least_instruction = in.fixed(1);
    if (unit.version >= 4) (void)in.fixed(1);  // operations an instruction: 1 but for machines without CUDA
    (void)in.fixed(1);
    unit.line_base = static_cast<std::int8_t>(in.fixed(1));
    unit.line_range = in.fixed(1);
    unit.opcode_base = in.fixed(1);
    if (unit.line_range == 0 || unit.opcode_base == 0) return;
    for (std::size_t i = 1; i < unit.opcode_base; ++i) unit.operand_counts[i] = static_cast<std::uint8_t>(in.fixed(1));
    // Names are read when one is wanted: most units have none of the addresses.
    names_at_ = in;
    has_names_ = false;
    in.at = program;
    run(unit, in);
  }

  void run(Unit& unit, Cursor in) {
    Row row;
    begin_sequence();
    while (in.ok && in.left() > 0) {
      const std::uint64_t opcode = in.fixed(1);
      if (opcode >= unit.opcode_base) {
        const std::uint64_t adjusted = opcode - unit.opcode_base;
        row.address += adjusted / unit.line_range * unit.least_instruction;
        row.line += static_cast<std::uint64_t>(unit.line_base) + adjusted % unit.line_range;
        emit(unit, row);
      } else if (opcode == 0) {
        extended(unit, in, row);
      } else {
        standard(unit, in, opcode, row);
      }
    }
  }

  void extended(Unit& unit, Cursor& in, Row& row) {
    const std::uint64_t size = in.uleb();
    if (size == 0 || size > in.left()) {
      in.ok = false;
      return;
    }
    const std::size_t end = in.at + size;
    switch (in.fixed(1)) {
      case 1:  // end of the sequence
        emit(unit, row);
        begin_sequence();
        row = {};
        break;
      case 2:  // set the address
        row.address = in.fixed(std::min<std::size_t>(size - 1, 8));
        break;
      default:
        break;
    }
    in.at = end;
  }

  static void advance_const(const Unit& unit, Row& row) {
    row.address += (255 - unit.opcode_base) / unit.line_range * unit.least_instruction;
  }

  void standard(Unit& unit, Cursor& in, std::uint64_t opcode, Row& row) {
    switch (opcode) {
      case 1:
        return emit(unit, row);
      case 2:
        row.address += in.uleb() * unit.least_instruction;
        return;
      case 3:
        row.line += static_cast<std::uint64_t>(in.sleb());
        return;
      case 4:
        row.file = in.uleb();
        return;
      case 8:
        return advance_const(unit, row);
      case 9:
        row.address += in.fixed(2);
        return;
      default:  // nothing that moves: as many operands as the header says
        for (unsigned i = 0; i < unit.operand_counts[opcode]; ++i) (void)in.uleb();
    }
  }

  void begin_sequence() { has_last_ = false; }

  // The last row holds up to this one.
  void emit(Unit& unit, const Row& row) {
    // Sequences at 0 are functions that the linker dropped.
    if (has_last_ && last_.address != 0 && row.address > last_.address) give(unit, last_, row.address);
    if (row.line == 0) {
      has_last_ = false;  // code of the compiler's own
      return;
    }
    last_ = row;
    has_last_ = true;
  }

  void give(Unit& unit, const Row& row, std::uint64_t end) {
    if (addresses_.empty()) return;
    if (row.address > addresses_.back() || end <= addresses_.front()) return;
    auto at = std::lower_bound(addresses_.begin(), addresses_.end(), row.address);
    for (; at != addresses_.end() && *at < end; ++at) {
      if (++steps_ > kMostSteps) return;
      auto& found = found_[static_cast<std::size_t>(at - addresses_.begin())];
      if (found) continue;  // the first unit's word counts
      const std::string file = path(unit, row.file);
      if (!file.empty() && row.line <= 0xFFFFFFFF) found = SourceLine{file, static_cast<std::uint32_t>(row.line)};
    }
  }

  std::string path(Unit& unit, std::uint64_t file) {
    if (!has_names_) {
      has_names_ = true;
      const bool is_read = unit.version >= 5 ? read_names_5(names_at_, sections_, unit) : read_names_4(names_at_, unit);
      if (!is_read) unit.files.clear();
    }
    return path_of(unit, file);
  }

  const std::vector<std::uint64_t>& addresses_;
  const Sections& sections_;
  std::vector<std::optional<SourceLine>> found_;
  Cursor names_at_;
  bool has_names_ = false;
  Row last_;
  std::uint64_t steps_ = 0;
  bool has_last_ = false;
};

}  // namespace

bool is_library_source(std::string_view path) {
  constexpr std::array<std::string_view, 8> kFolders = {"/usr/include/", "/usr/lib/", "/include/c++/",  "/thrust/",
                                                        "/cub/",         "/cccl/",    "/cuda/include/", "/targets/"};
  constexpr std::array<std::string_view, 4> kFiles = {"cuda_runtime.h", "cuda_runtime_api.h", "crt/host_runtime.h",
                                                      "cuda_device_runtime_api.h"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](std::string_view each) { return path.find(each) != std::string_view::npos; }) ||
         std::any_of(kFiles.begin(), kFiles.end(), [&](std::string_view each) { return path.ends_with(each); });
}

std::vector<std::optional<SourceLine>> find_lines(const ElfFile& file, const std::vector<std::uint64_t>& addresses) {
  const auto read = [&](std::string_view name) {
    const ElfSection* const section = file.find(name);
    return section == nullptr ? std::vector<std::uint8_t>{} : file.read(*section, kMostTableBytes);
  };
  Sections sections{read(".debug_line"), {}, {}};
  if (sections.lines.empty()) return std::vector<std::optional<SourceLine>>(addresses.size());
  sections.line_texts = read(".debug_line_str");
  sections.texts = read(".debug_str");
  return Finder(addresses, sections).find();
}

}  // namespace stepscope::native

// Read in pieces, never mapped: a file that shrinks under a mapping kills the reader.
#include "import/capture/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace stepscope::native {
namespace {

constexpr std::size_t kMostSections = 65'536;
constexpr std::uint64_t kMostNameBytes = 16U << 20;
constexpr std::uint64_t kMostNoteBytes = 1U << 20;
constexpr std::size_t kMostIdBytes = 64;

bool is_ours(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_shentsize == sizeof(Elf64_Shdr);
}

std::string text_at(const std::vector<std::uint8_t>& bytes, std::uint64_t at) {
  if (at >= bytes.size()) return "";
  const auto end = std::find(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), std::uint8_t{0});
  return {bytes.begin() + static_cast<std::ptrdiff_t>(at), end};
}

std::string build_id_in(const std::vector<std::uint8_t>& notes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::size_t at = 0;
  while (notes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    at += sizeof note;
    const std::size_t name_bytes = (std::size_t{note.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t text_bytes = (std::size_t{note.n_descsz} + 3) & ~std::size_t{3};
    if (name_bytes > notes.size() - at || text_bytes > notes.size() - at - name_bytes) break;
    const bool is_gnu = note.n_namesz == 4 && std::memcmp(notes.data() + at, "GNU", 4) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= kMostIdBytes) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i) {
        const std::uint8_t byte = notes[at + name_bytes + i];
        id += kDigits[byte >> 4];
        id += kDigits[byte & 15];
      }
      return id;
    }
    at += name_bytes + text_bytes;
  }
  return "";
}

}  // namespace

ElfFile::ElfFile(ElfFile&& other) noexcept
    : descriptor_(other.descriptor_),
      size_(other.size_),
      mtime_ns_(other.mtime_ns_),
      sections_(std::move(other.sections_)) {
  other.descriptor_ = -1;
}

ElfFile::~ElfFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<ElfFile> ElfFile::open(const std::string& path) {
  if (!path.starts_with('/') || path.find('\0') != std::string::npos) return std::nullopt;
  ElfFile file;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat facts {};
  if (file.descriptor_ < 0 || fstat(file.descriptor_, &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  file.size_ = static_cast<std::uint64_t>(facts.st_size);
  file.mtime_ns_ = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  if (!file.read_sections()) return std::nullopt;
  return file;
}

bool ElfFile::read_at(std::uint64_t offset, void* into, std::size_t size) const {
  if (offset > size_ || size > size_ - offset) return false;
  auto* to = static_cast<std::uint8_t*>(into);
  while (size > 0) {
    const ssize_t got = pread(descriptor_, to, size, static_cast<off_t>(offset));
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool ElfFile::read_sections() {
  Elf64_Ehdr header;
  if (!read_at(0, &header, sizeof header) || !is_ours(header)) return false;
  if (header.e_shnum == 0 || header.e_shnum > kMostSections) return true;  // stripped of them: no names
  std::vector<Elf64_Shdr> raw(header.e_shnum);
  if (!read_at(header.e_shoff, raw.data(), raw.size() * sizeof(Elf64_Shdr))) return true;
  for (const Elf64_Shdr& each : raw) {
    sections_.push_back({"", each.sh_type, each.sh_link, each.sh_flags, each.sh_offset, each.sh_size});
  }
  if (header.e_shstrndx >= raw.size()) return true;
  const std::vector<std::uint8_t> names = read(sections_[header.e_shstrndx], kMostNameBytes);
  for (std::size_t i = 0; i < raw.size(); ++i) sections_[i].name = text_at(names, raw[i].sh_name).substr(0, 256);
  return true;
}

const ElfSection* ElfFile::find(std::string_view name) const {
  const auto found =
      std::find_if(sections_.begin(), sections_.end(), [&](const ElfSection& each) { return each.name == name; });
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<std::uint8_t> ElfFile::read(const ElfSection& section, std::uint64_t most) const {
  if (section.type == SHT_NOBITS || (section.flags & SHF_COMPRESSED) != 0 || section.size > most) return {};
  if (section.offset > size_ || section.size > size_ - section.offset) return {};
  std::vector<std::uint8_t> bytes(section.size);
  if (!read_at(section.offset, bytes.data(), bytes.size())) return {};
  return bytes;
}

std::string ElfFile::build_id() const {
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE) continue;
    std::string id = build_id_in(read(section, kMostNoteBytes));
    if (!id.empty()) return id;
  }
  return "stat:" + std::to_string(size_) + ":" + std::to_string(mtime_ns_);
}

}  // namespace stepscope::native

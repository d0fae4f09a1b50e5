// As much of an ELF file as names need: its build id and its sections. 64-bit little-endian, as all that run CUDA are.
//
// The path comes out of a capture, which may come from anywhere: only regular files are opened, without waiting for
// one, and everything in them is bounded by what the caller allows and checked against the file's size. A library
// (libdw) was rejected: the wheel would bundle it with four others, for two tables; and its readers of compressed
// debug information allocate what a file tells them to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::native {

struct ElfSection {
  std::string name;
  std::uint32_t type = 0;
  std::uint32_t link = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0, size = 0;
};

class ElfFile {
 public:
  // Missing: no file, no regular one, none of ELF.
  [[nodiscard]] static std::optional<ElfFile> open(const std::string& path);
  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&& other) = delete;
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile();

  [[nodiscard]] const std::vector<ElfSection>& sections() const { return sections_; }
  [[nodiscard]] const ElfSection* find(std::string_view name) const;
  // Its bytes; empty where it has none in the file, is larger than `most`, is compressed, or cannot be read.
  [[nodiscard]] std::vector<std::uint8_t> read(const ElfSection& section, std::uint64_t most) const;
  // As the agent writes it: hexadecimal, or "stat:BYTES:MTIME_NS" for a file without one.
  [[nodiscard]] std::string build_id() const;

 private:
  ElfFile() = default;
  [[nodiscard]] bool read_at(std::uint64_t offset, void* into, std::size_t size) const;
  bool read_sections();

  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::int64_t mtime_ns_ = 0;
  std::vector<ElfSection> sections_;
};

}  // namespace stepscope::native

// Only the first bytes are read: the ELF header and its program headers, or a script's first line.
#include "cli/run/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

namespace stepscope {
namespace {

std::string first_bytes(const std::string& path, std::size_t count) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  std::string bytes(count, '\0');
  const ssize_t got = ::read(file, bytes.data(), bytes.size());
  (void)::close(file);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

int usable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// Whose privileges rise, the loader ignores LD_PRELOAD for.
bool raises_privileges(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return false;
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != ::geteuid()) return true;
  if ((info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0 && info.st_gid != ::getegid()) return true;
  return ::geteuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

constexpr std::size_t kHeadBytes = 16384;  // program headers stand behind the ELF header in what linkers write

bool has_loader(const std::string& head) {
  Elf64_Ehdr elf{};
  if (head.size() < sizeof elf) return false;
  std::memcpy(&elf, head.data(), sizeof elf);
  for (std::size_t i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::uint64_t at = elf.e_phoff + i * sizeof segment;
    if (elf.e_phoff > head.size() || at + sizeof segment > head.size()) return true;  // cannot be told
    std::memcpy(&segment, head.data() + at, sizeof segment);
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

// The interpreter of a script ("#!/usr/bin/env -S python3 -u" is python3); empty: cannot be told.
std::string interpreter(const std::string& head, const std::string& search_path) {
  std::vector<std::string> words(1);
  for (std::size_t at = 2; at < head.size() && head[at] != '\n'; ++at) {
    if (head[at] != ' ' && head[at] != '\t') {
      words.back() += head[at];
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (!words.front().ends_with("/env")) return words.front();
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].empty() || words[i][0] == '-' || words[i].find('=') != std::string::npos) continue;
    return find_program(words[i], search_path).path;
  }
  return words.front();
}

std::string judge(const std::string& path, const std::string& search_path, int depth) {
  if (raises_privileges(path)) return path + " runs with more privileges than yours, so the loader ignores LD_PRELOAD";
  const std::string head = first_bytes(path, kHeadBytes);
  if (head.starts_with("#!")) {
    const std::string next = interpreter(head, search_path);
    return next.empty() || depth > 3 ? "" : judge(next, search_path, depth + 1);  // Linux goes 4 deep
  }
  if (!head.starts_with(ELFMAG)) return "";
  if (head.size() > EI_CLASS && head[EI_CLASS] != ELFCLASS64) return path + " is a 32-bit program";
  return has_loader(head) ? "" : path + " is linked statically, so no library can be loaded into it";
}

}  // namespace

FoundProgram find_program(const std::string& name, const std::string& search_path) {
  if (name.empty()) return {"", ENOENT};
  if (name.find('/') != std::string::npos) {
    const int error = usable(name);
    return {error == 0 ? name : "", error};
  }
  int error = ENOENT;
  for (std::size_t begin = 0; begin <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', begin), search_path.size());
    const std::string folder = search_path.substr(begin, end - begin);
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    const int wrong = usable(path);
    if (wrong == 0) return {path, 0};
    if (wrong == EACCES) error = EACCES;
    begin = end + 1;
  }
  return {"", error};
}

std::string why_not_preloaded(const std::string& path, const std::string& search_path) {
  return judge(path, search_path, 0);
}

}  // namespace stepscope

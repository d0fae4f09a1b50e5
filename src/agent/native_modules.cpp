// Build ids are read from the loaded notes, not from the files: a file may have been replaced since.
#include "agent/native_modules.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace stepscope::agent {
namespace {

constexpr std::size_t kMostIdBytes = 64;  // 20 of SHA-1; a note that says more is none of a linker's

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// Of one segment of notes: name size, description size, type; the name and the description, each padded to 4 bytes.
std::string build_id_in(const unsigned char* notes, std::size_t size) {
  constexpr std::string_view kGnu("GNU\0", 4);
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name_bytes = (std::size_t{note.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t text_bytes = (std::size_t{note.n_descsz} + 3) & ~std::size_t{3};
    if (name_bytes > size - sizeof note || text_bytes > size - sizeof note - name_bytes) break;
    const unsigned char* const name = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == kGnu.size() && note.n_descsz <= kMostIdBytes &&
        std::memcmp(name, kGnu.data(), kGnu.size()) == 0) {
      return hexadecimal(name + name_bytes, note.n_descsz);
    }
    const std::size_t whole = sizeof note + name_bytes + text_bytes;
    notes += whole;
    size -= whole;
  }
  return "";
}

std::string absolute_path(const char* name) {
  std::string path = name == nullptr ? "" : name;
  if (path.empty()) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlink("/proc/self/exe", target.data(), target.size());
    return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
  }
  if (path.front() == '/' || path.find('/') == std::string::npos) return path;
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

std::string id_of_file(const std::string& path) {
  struct stat facts {};
  if (path.empty() || path.front() != '/' || stat(path.c_str(), &facts) != 0) return "";
  const auto mtime_ns = std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
  return "stat:" + std::to_string(facts.st_size) + ":" + std::to_string(mtime_ns);
}

bool is_loaded(const dl_phdr_info& info, const ElfW(Phdr) & part) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& load = info.dlpi_phdr[i];
    if (load.p_type == PT_LOAD && (load.p_flags & PF_R) != 0 && part.p_vaddr >= load.p_vaddr &&
        part.p_vaddr + part.p_memsz <= load.p_vaddr + load.p_filesz) {
      return true;
    }
  }
  return false;
}

NativeModule describe(const dl_phdr_info& info) {
  NativeModule module;
  module.base = info.dlpi_addr;
  module.begin = ~std::uintptr_t{0};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) {
      module.begin = std::min(module.begin, begin);
      module.end = std::max(module.end, begin + part.p_memsz);
    } else if (part.p_type == PT_NOTE && module.build_id.empty() && is_loaded(info, part)) {
      module.build_id = build_id_in(reinterpret_cast<const unsigned char*>(begin), part.p_memsz);
    }
  }
  module.path = absolute_path(info.dlpi_name);
  return module;
}

}  // namespace

std::vector<NativeModule> list_native_modules() {
  std::vector<NativeModule> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* into) {
        try {
          static_cast<std::vector<NativeModule>*>(into)->push_back(describe(*info));
        } catch (...) {
          return 1;
        }
        return 0;
      },
      &modules);
  for (NativeModule& module : modules) {
    if (module.build_id.empty()) module.build_id = id_of_file(module.path);
  }
  return modules;
}

bool is_between(const NativeModule& module) {
  constexpr std::array<std::string_view, 5> kNames = {"libstepscope_agent.", "libcupti.", "libcuda.", "libcudart.",
                                                      "libcudart-"};
  const std::string_view path = module.path;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view each) { return name.starts_with(each); });
}

}  // namespace stepscope::agent

// Slots are named by the relocations of the procedure linkage table (DT_JMPREL) and, for objects compiled without one,
// by those of single addresses (GLOB_DAT in DT_RELA). Where the loader made slots read-only after it had filled them
// (RELRO), the page is made writable for the one store.
#include "agent/imported_function.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace stepscope::agent {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kJumpSlot = R_X86_64_JUMP_SLOT, kGlobalData = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint64_t kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobalData = R_AARCH64_GLOB_DAT;
#else
constexpr std::uint64_t kJumpSlot = ~std::uint64_t{0}, kGlobalData = ~std::uint64_t{0};  // no such relocation
#endif

struct Request {
  std::string_view library, symbol;
  std::uintptr_t ours = 0;
  std::size_t count = 0;
};

// What the dynamic section says of one object.
struct Object {
  std::uintptr_t base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const ElfW(Rela) * calls = nullptr;
  const ElfW(Rela) * others = nullptr;
  std::size_t calls_bytes = 0, others_bytes = 0;
  std::size_t relative_count = 0;  // of `others`, at their front: those without a symbol, nearly all
  std::uintptr_t read_only_begin = 0, read_only_end = 0;
};

void note_entry(const ElfW(Dyn) & entry, Object& object) {
  // glibc has made these absolute where it loaded the object; the vDSO, which it has not, has no imports.
  switch (entry.d_tag) {
    case DT_SYMTAB:
      object.symbols = reinterpret_cast<const ElfW(Sym)*>(entry.d_un.d_ptr);
      break;
    case DT_STRTAB:
      object.strings = reinterpret_cast<const char*>(entry.d_un.d_ptr);
      break;
    case DT_JMPREL:
      object.calls = reinterpret_cast<const ElfW(Rela)*>(entry.d_un.d_ptr);
      break;
    case DT_PLTRELSZ:
      object.calls_bytes = entry.d_un.d_val;
      break;
    case DT_RELA:
      object.others = reinterpret_cast<const ElfW(Rela)*>(entry.d_un.d_ptr);
      break;
    case DT_RELACOUNT:
      object.relative_count = entry.d_un.d_val;
      break;
    case DT_RELASZ:
      object.others_bytes = entry.d_un.d_val;
      break;
    default:
      break;
  }
}

Object describe(const dl_phdr_info& info) {
  Object object;
  object.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_RELRO) {
      object.read_only_begin = begin;
      object.read_only_end = begin + header.p_memsz;
    }
    if (header.p_type != PT_DYNAMIC) continue;
    for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(begin); entry->d_tag != DT_NULL; ++entry) {
      note_entry(*entry, object);
    }
  }
  return object;
}

bool write_slot(const Object& object, std::uintptr_t place, std::uintptr_t ours) {
  auto* const slot = reinterpret_cast<std::atomic<std::uintptr_t>*>(place);
  static_assert(sizeof *slot == sizeof(void*) && std::atomic<std::uintptr_t>::is_always_lock_free);
  if (slot->load(std::memory_order_relaxed) == ours) return true;
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const page = reinterpret_cast<void*>(place & ~(page_bytes - 1));
  const bool is_read_only = place >= object.read_only_begin && place < object.read_only_end;
  if (is_read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  slot->store(ours, std::memory_order_release);
  if (is_read_only) (void)mprotect(page, page_bytes, PROT_READ);
  return true;
}

void replace_in(const Object& object, const ElfW(Rela) * list, std::size_t bytes, std::uint64_t type,
                Request& request) {
  if (list == nullptr || object.symbols == nullptr || object.strings == nullptr) return;
  for (std::size_t i = 0; i < bytes / sizeof *list; ++i) {
    if (ELF64_R_TYPE(list[i].r_info) != type) continue;
    const char* const name = object.strings + object.symbols[ELF64_R_SYM(list[i].r_info)].st_name;
    if (name != request.symbol) continue;
    if (write_slot(object, object.base + list[i].r_offset, request.ours)) ++request.count;
  }
}

int look_at(dl_phdr_info* info, std::size_t, void* data) {
  auto& request = *static_cast<Request*>(data);
  const std::string_view path = info->dlpi_name == nullptr ? std::string_view{} : info->dlpi_name;
  if (!path.substr(path.rfind('/') + 1).starts_with(request.library)) return 0;
  const Object object = describe(*info);
  replace_in(object, object.calls, object.calls_bytes, kJumpSlot, request);
  const std::size_t relative_bytes = object.relative_count * sizeof *object.others;
  if (object.others == nullptr || relative_bytes > object.others_bytes) return 0;
  replace_in(object, object.others + object.relative_count, object.others_bytes - relative_bytes, kGlobalData, request);
  return 0;
}

}  // namespace

std::size_t replace_imports(std::string_view library, std::string_view symbol, const void* ours) noexcept {
  static_assert(sizeof(void*) == 8, "relocations with addends, as 64-bit systems have them");
  Request request{library, symbol, reinterpret_cast<std::uintptr_t>(ours), 0};
  dl_iterate_phdr(look_at, &request);
  return request.count;
}

std::uint64_t loaded_object_count() noexcept {
  std::uint64_t count = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        *static_cast<std::uint64_t*>(data) = info->dlpi_adds;
        return 1;
      },
      &count);
  return count;
}

}  // namespace stepscope::agent

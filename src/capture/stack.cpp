// glibc's backtrace() for the walk, the dynamic linker's tables for names. Debug information (files and lines) was left
// out: reading it takes a library and hundreds of milliseconds, and addr2line gives it from module and offset.
#include "capture/stack.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace stepscope {
namespace {

// The recorder's own frames lie above `innermost`.
constexpr std::size_t kOwnFrames = 8;

std::string demangle(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? text.get() : symbol;
}

std::string hex(std::uintptr_t number) {
  std::string digits;
  do {
    digits += "0123456789abcdef"[number & 15];
    number >>= 4;
  } while (number > 0);
  std::reverse(digits.begin(), digits.end());
  return "0x" + digits;
}

}  // namespace

void prepare_stacks() {
  void* frame = nullptr;
  backtrace(&frame, 1);
}

std::size_t capture_stack(std::span<void*> frames, const void* innermost) {
  std::array<void*, kMostFrames + kOwnFrames> found;
  const int count = backtrace(found.data(), static_cast<int>(found.size()));
  auto* const end = found.data() + std::max(count, 0);
  auto* begin = std::find(found.data(), end, innermost);
  if (begin == end) begin = found.data();
  const std::size_t kept = std::min(static_cast<std::size_t>(end - begin), frames.size());
  std::copy_n(begin, kept, frames.begin());
  return kept;
}

std::string FrameName::to_string() const {
  if (!function.empty()) return function;
  if (module.empty()) return hex(offset_bytes);
  return module.substr(module.rfind('/') + 1) + "+" + hex(offset_bytes);
}

FrameName find_frame_name(const void* return_address) {
  const auto call = reinterpret_cast<std::uintptr_t>(return_address) - (return_address != nullptr ? 1 : 0);
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(call), &info) == 0) return {{}, {}, call};
  FrameName name;
  if (info.dli_sname != nullptr) name.function = demangle(info.dli_sname);
  if (info.dli_fname != nullptr) name.module = info.dli_fname;
  name.offset_bytes = call - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  return name;
}

}  // namespace stepscope

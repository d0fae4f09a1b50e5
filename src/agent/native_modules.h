// The objects that are loaded into this process: where they lie, and how their files are known again later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::agent {

struct NativeModule {
  std::uintptr_t begin = 0, end = 0;  // of what is loaded
  std::uintptr_t base = 0;            // what the loader added to the file's own addresses
  std::string path;                   // absolute; of objects without a file the name alone
  // Of the linker (hexadecimal), or where it made none "stat:BYTES:MTIME_NS" of the file; empty: neither.
  std::string build_id;
};

// In no order. Takes memory, and the loader's lock.
[[nodiscard]] std::vector<NativeModule> list_native_modules();
// CUDA's runtime and driver, CUPTI, and the agent itself: no allocation is theirs. By the file's name.
[[nodiscard]] bool is_between(const NativeModule& module);

}  // namespace stepscope::agent

// A library that the program has loaded already, found by its file name.
//
// PyTorch and CPython load their libraries with RTLD_LOCAL, so dlsym(RTLD_DEFAULT) does not see them, and dlopen by the
// bare name finds another copy when the path was given to the first. So: the list of loaded objects, then RTLD_NOLOAD.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::agent {

struct LoadedLibrary {
  void* handle = nullptr;  // kept open for the life of the process; nullptr: not loaded
  std::string path;
};

// The first loaded object whose file name begins with `name` ("libtorch_cpu.so", "libpython3.").
[[nodiscard]] LoadedLibrary find_loaded_library(std::string_view name);
// Is one loaded? Opens nothing.
[[nodiscard]] bool is_library_loaded(std::string_view name);

}  // namespace stepscope::agent

// Kernel names short enough to read: C++ templates of 500 characters carry their meaning in 40.
//
// The return type, the parameter list and the namespaces go first, then template arguments are folded from the
// inside out ("<…>") until the name fits, last the middle is cut. Names that the profiler left mangled are read as
// far as their identifiers. abi::__cxa_demangle was rejected: a name of 100 bytes from a hostile file can
// expand to gigabytes through substitutions, and it has no limit to set.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope {

// At most `width` columns. `name` is valid UTF-8.
[[nodiscard]] std::string fold_kernel_name(std::string_view name, std::size_t width);

}  // namespace stepscope

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
#include <vector>

namespace stepscope {

// At most `width` columns. `name` is valid UTF-8.
[[nodiscard]] std::string fold_kernel_name(std::string_view name, std::size_t width);

// Changes those of `shown`, the shortened `names`, that are equal though their names differ: they skip to the place
// where the names part ("sm80_xmma_ge…tn_n_tilesize128x128…"), or carry a number where even that does not fit.
void tell_apart(const std::vector<std::string>& names, std::size_t width, std::vector<std::string>& shown);

}  // namespace stepscope

// A function that loaded libraries import from each other, replaced by one of ours.
//
// A call from one shared object to a function that is visible outside goes through a slot of the caller, even within
// the library that has the function. Writing our address into the slots lets us hear the calls, and the callers' code
// stays as it is. Rejected: preloading a function of the same name (this library may be loaded long after its callers);
// overwriting the first instructions of the function (needs a disassembler, and other threads may be in them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stepscope::agent {

// In every loaded object whose file name begins with `library`: each slot of `symbol` (mangled) becomes `ours`.
// Slots that have it already stay. How many have it now; 0: nobody imports it, or its memory cannot be written. Slots
// are never put back: a caller may be between loading and calling.
std::size_t replace_imports(std::string_view library, std::string_view symbol, const void* ours) noexcept;
// How many objects this process has loaded so far: where it has not changed, there are no new slots.
[[nodiscard]] std::uint64_t loaded_object_count() noexcept;

}  // namespace stepscope::agent

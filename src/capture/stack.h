// Call stacks: taken as return addresses, which is all that is affordable while a program runs, and given names later.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace stepscope {

// A training step's C++ stack is some 30 frames deep; deeper ones (recursion) lose their outer end.
constexpr std::size_t kMostFrames = 64;

// Loads what the first stack needs (it may allocate and lock); later ones only walk.
void prepare_stacks();
// Fills `frames` with the return addresses of the callers, innermost first, from `innermost` on (the return address
// of the function whose caller is wanted; from the top when it is not found). How many.
std::size_t capture_stack(std::span<void*> frames, const void* innermost);

struct FrameName {
  std::string function;          // demangled; empty when no symbol is exported (link with -rdynamic)
  std::string module;            // path of the program or shared library; empty: unknown
  std::size_t offset_bytes = 0;  // in the module, as addr2line takes it
  // "Net::forward(int)", or "libnet.so+0x1234", or "0x7f..."
  [[nodiscard]] std::string to_string() const;
};
// Of a return address: the call lies before it.
[[nodiscard]] FrameName find_frame_name(const void* return_address);

}  // namespace stepscope

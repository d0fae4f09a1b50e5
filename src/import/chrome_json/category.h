// Which table an event belongs to, from the `cat` of any producer and any year.
#pragma once

#include <cstdint>
#include <string_view>

namespace stepscope::chrome_json {

enum class Category : std::uint8_t {
  kNone,  // no `cat` at all: JAX, and instants of PyTorch
  kOp,
  kSpan,
  kFrame,
  kCall,
  kKernel,
  kCopy,
  kSet,
  kGpuSpan,
  kMemory,      // cpu_instant_event: allocator events, if the name says so
  kKnownOther,  // overhead, Trace, ...: known to be no work
  kUnknown,
};

[[nodiscard]] Category category_of(std::string_view text);

}  // namespace stepscope::chrome_json

// Which program wrote the work: advice and words differ between PyTorch, JAX and C++, and between eager and compiled
// models.
//
// Decided by names that only one of them writes. A file with neither is unknown, and is spoken to as PyTorch's, whose
// profiler most files come from. Unique names are read once; a million events have some thousand of them.
#pragma once

#include "trace/trace.h"

namespace stepscope {

enum class Framework : std::uint8_t { kUnknown, kPyTorch, kJax, kCpp };

// JAX: no aten:: operator, and names of XLA or of PjRt. C++: none of these, and recorded by a session of our library,
// or captured from a process without Python.
[[nodiscard]] Framework find_framework(const Trace& trace);
// torch.compile made kernels or regions of the file.
[[nodiscard]] bool is_torch_compiled(const Trace& trace);

}  // namespace stepscope

// Which program wrote the work: advice and words differ between PyTorch and JAX, and between eager and compiled models.
//
// Decided by names that only one of them writes. A file with neither is unknown, and is spoken to as PyTorch's, whose
// profiler most files come from. Unique names are read once; a million events have some thousand of them.
#pragma once

#include "trace/trace.h"

namespace stepscope {

enum class Framework : std::uint8_t { kUnknown, kPyTorch, kJax };

// JAX: no aten:: operator, and names of XLA or of PjRt.
[[nodiscard]] Framework find_framework(const Trace& trace);
// torch.compile made kernels or regions of the file.
[[nodiscard]] bool is_torch_compiled(const Trace& trace);

}  // namespace stepscope

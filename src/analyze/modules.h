// Time by module: forward and the backward pass that it caused, together.
//
// Where Python stacks were recorded, a module is an `nn.Module: ...` frame; operators outside any are one row,
// `(outside modules)`. Where not, the outermost forward operator stands for the module. A backward operator is joined
// to its forward operator (backward_links.h), so its time is the module's and not that of a nameless autograd thread.
#pragma once

#include "analyze/averages.h"

namespace stepscope {

// Rows: count = calls of the module (of the outermost operator); times with nested modules, `self` without; the
// backward operators' CPU time is in both. Of `options` window and left_out count, by the start of frames and
// operators. Memory and FLOPs are not split by module and stay 0.
[[nodiscard]] Averages compute_module_averages(const Trace& trace, const AveragesOptions& options);

}  // namespace stepscope

// `stepscope stacks`: one line a stack, as flamegraph.pl, speedscope and torch's export_stacks have it.
#pragma once

#include <string>

#include "analyze/call_stacks.h"

namespace stepscope {

// Frames root first joined by `;` (space, `;`, tab and newline in names become `_`), a space, whole microseconds;
// stacks of less than one are left out.
[[nodiscard]] std::string write_folded(const Trace& trace, const FoldedStacks& folded);

}  // namespace stepscope

// Traces as text, every cell of them, so that two readings are compared by one EXPECT_EQ that shows where they differ.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace stepscope {

// The error's message when there are none.
[[nodiscard]] std::string describe_traces(const Result<std::vector<Trace>>& traces);

}  // namespace stepscope

// Reads a file of tests/data once a program and keeps its trace: recordings take a tenth of a second each.
#pragma once

#include <string_view>

#include "trace/trace.h"

namespace stepscope {

// "h200/solid" -> tests/data/h200/solid.pt.trace.json.gz; other names are taken as they are ("cases/A00_good.json").
// Fails the test and returns an empty trace when the file cannot be read.
[[nodiscard]] const Trace& recorded_trace(std::string_view name);
// The same, read anew, for tests that change it.
[[nodiscard]] Trace read_recorded_trace(std::string_view name);

}  // namespace stepscope

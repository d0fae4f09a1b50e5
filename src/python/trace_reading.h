// Traces for Python, from a file or from a pipe that has another name.
#pragma once

#include <string>
#include <vector>

#include "python/reading.h"
#include "trace/trace.h"

namespace stepscope::python {

// All recordings of `path`. `name` stands in them and in errors: a pipe has no name of its own. Called with the lock of
// Python, which is let go while the file is read; raises where nothing can be used.
[[nodiscard]] std::vector<Trace> read_or_raise(const std::string& path, const std::string& name, unsigned threads,
                                               const Progress& progress);

}  // namespace stepscope::python

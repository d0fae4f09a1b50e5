// A trace as PyTorch's Chrome trace JSON: opens in Perfetto, chrome://tracing, HTA and torch-tb-profiler.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/trace.h"

namespace stepscope {

// Takes the text in pieces, in order; an error stops the writing and is handed through.
using TextSink = std::function<Status(std::string_view piece)>;

// The whole document to `sink`, in pieces of about 1 MiB: memory does not follow the trace.
[[nodiscard]] Status write_chrome_trace(const Trace& trace, const TextSink& sink);

// To a file, through a temporary name in the same folder that is renamed at the end (a killed writer leaves no half
// file under the final name). gzip when the path ends in .gz. Errors name the path and the system's reason.
[[nodiscard]] Status write_chrome_trace_file(const Trace& trace, const std::string& path);

}  // namespace stepscope

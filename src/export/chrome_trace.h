// A trace as PyTorch's Chrome trace JSON: opens in Perfetto, chrome://tracing, HTA and torch-tb-profiler.
//
// Our importer reads it back as the same trace, every column and note of it (tests/export). What a trace has is written
// and nothing else: rows of Flows are its arrows, so whoever builds a trace and wants arrows from launches to kernels
// adds them. docs/formats/chrome-trace.md has the keys.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "export/text_sink.h"
#include "trace/trace.h"

namespace stepscope {

// Keys of the user's beside the trace's own, as torch.profiler's add_metadata_json: each with a JSON value. One named
// "distributedInfo" replaces what the trace says of its rank; other keys that a trace has, or a value that is no JSON,
// are errors (kInvalidArgument).
using ChromeMetadata = std::vector<std::pair<std::string, std::string>>;

// The whole document to `sink`, in pieces of about 1 MiB: memory does not follow the trace.
[[nodiscard]] Status write_chrome_trace(const Trace& trace, const TextSink& sink, const ChromeMetadata& metadata = {});

// To a file, through a temporary name in the same folder that is renamed at the end (a killed writer leaves no half
// file under the final name). gzip when the path ends in .gz. Errors name the path and the system's reason.
[[nodiscard]] Status write_chrome_trace_file(const Trace& trace, const std::string& path,
                                             const ChromeMetadata& metadata = {});

}  // namespace stepscope

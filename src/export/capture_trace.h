// A trace as a capture file (docs/formats/capture.md): a tenth to a thirtieth of the JSON's size, each cell kept.
//
// The importer reads it back as the same trace, every column and note (tests/export). Only texts over 15 MiB are cut.
#pragma once

#include <string>

#include "base/result.h"
#include "export/text_sink.h"
#include "trace/trace.h"

namespace stepscope {

// The whole file to `sink`, chunk by chunk.
[[nodiscard]] Status write_capture(const Trace& trace, const TextSink& sink);
// To a file, through a temporary name that is renamed at the end, as write_chrome_trace_file does.
[[nodiscard]] Status write_capture_file(const Trace& trace, const std::string& path);

}  // namespace stepscope

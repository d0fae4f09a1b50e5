// A trace as a Perfetto protobuf (.pftrace): a third of the JSON's size, and opened by Perfetto several times faster.
//
// Tracks: each process with its threads, each GPU with its streams (the marks of a stream on a track beside it),
// counters, and the recorder's own rows. Arrows go from launches to their GPU events and along fwdbwd flows.
// docs/formats/perfetto.md says what is written and what is not.
#pragma once

#include <string>

#include "base/result.h"
#include "export/text_sink.h"
#include "trace/trace.h"

namespace stepscope {

// In pieces of about 1 MiB. Every name is made valid UTF-8.
[[nodiscard]] Status write_perfetto_trace(const Trace& trace, const TextSink& sink);
// As write_chrome_trace_file does.
[[nodiscard]] Status write_perfetto_trace_file(const Trace& trace, const std::string& path);

}  // namespace stepscope

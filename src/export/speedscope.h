// A trace as a speedscope file: a profile a thread and a profile a GPU stream, as begun and ended frames.
//
// Format: speedscope's file-format-schema.json (version 0.0.1). Profiles share one range of time, so that equal places
// are equal moments. Names are valid UTF-8; rows that overlap in part stand in a profile of their own. What nests is
// kept; arguments, flows and memory are nothing that speedscope shows. docs/formats/speedscope.md.
#pragma once

#include <string>

#include "base/result.h"
#include "export/text_sink.h"
#include "trace/trace.h"

namespace stepscope {

// `name`: the title, mostly the file's name.
[[nodiscard]] Status write_speedscope(const Trace& trace, std::string_view name, const TextSink& sink);

}  // namespace stepscope

// How to record again, in the words of the tool that made this file.
//
// Rules and reasons are written once, for torch.profiler, which most files come from. A capture of `stepscope run` has
// other switches, and a session of the C++ library other options: its user must not be sent to a Python call that the
// program does not make. One table here instead of three texts at each place, so that a new rule need not know of it;
// the test of the table fails on a word that nothing says.
#pragma once

#include <string>

#include "trace/trace.h"

namespace stepscope {

// `text` with torch.profiler's words replaced, if the trace is a capture or a C++ session's; else as it is. Where the
// program itself asked for the capture's windows, as `stepscope.torch` does, options keep torch.profiler's words, with
// the switch of `stepscope run` beside them.
[[nodiscard]] std::string fit_recording_words(const TraceInfo& info, std::string text);

}  // namespace stepscope

// How to record again, in the words of the tool that made this file.
//
// Rules and reasons are written once, for torch.profiler, which most files come from. A capture of `stepscope run` has
// other switches, a session of the C++ library other options, JAX's profiler others again, and of a file that names no
// tool (another profiler's, turned into JSON) only what should be in it can be said: nobody must be sent to a Python
// call that the program does not make. One table here instead of a text for each tool at each place, so that a new rule
// need not know of it; the test of the table fails on a word that nothing says.
#pragma once

#include <string>

#include "trace/trace.h"

namespace stepscope {

enum class RecordingTool : std::uint8_t {
  kTorch,             // torch.profiler
  kJax,               // jax.profiler
  kCapture,           // `stepscope run`
  kCaptureByProgram,  // the program itself asked for the capture's windows, as `stepscope.torch` does
  kSession,           // a session of the C++ library
  kOther,             // nothing says
};
[[nodiscard]] RecordingTool find_recording_tool(const Trace& trace);

// `text` with torch.profiler's words replaced, unless that made the trace. Where the program itself asked for the
// capture's windows, options keep torch.profiler's words, with the switch of `stepscope run` beside them.
[[nodiscard]] std::string fit_recording_words(RecordingTool tool, std::string text);
[[nodiscard]] std::string fit_recording_words(const Trace& trace, std::string text);

// Of a trace without memory events: that it has none, and how to record them where that is known.
[[nodiscard]] std::string no_memory_events_words(const Trace& trace);

}  // namespace stepscope

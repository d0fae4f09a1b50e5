// A trace as folded stacks, one line a stack and its time: for flame graphs of everything that the trace names.
//
// `stepscope stacks` has Python frames alone and gives backward work to its forward line. Here a stack is what lay
// around a moment: on the CPU thread; spans, Python frames, operators, calls; on the GPU the device, the operators that
// launched the work, and the work. Lines: frames root first joined by `;` (space, `;`, control characters in a name
// become `_`), a space, whole microseconds, only if > 0. docs/formats/folded.md.
#pragma once

#include "base/result.h"
#include "export/text_sink.h"
#include "trace/trace.h"

namespace stepscope {

enum class FoldedTime : std::uint8_t {
  kCpu,  // in a row and in no row inside it
  kGpu,  // durations of sound GPU events
};

[[nodiscard]] Status write_folded(const Trace& trace, FoldedTime time, const TextSink& sink);

}  // namespace stepscope

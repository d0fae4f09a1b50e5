// Spans that JAX's runtime and compilers write around what they do, told apart from spans of the program.
//
// A JAX loop without StepTraceAnnotation carries hundreds of such spans: one a compiler pass (`XlaPass:#name=dce,...#`,
// repeated whenever two programs are compiled) and dozens a run. The run of a jit-compiled function is the only one
// that is a step's worth: `PjitFunction(step)` in jax.profiler's files, `XlaModule:#hlo_module=jit_step,...#` as NVTX
// range (domain TSL). Names as XLA's and JAX's sources have them in 2025.
#pragma once

#include <string_view>
#include <vector>

#include "base/interval.h"
#include "trace/trace.h"

namespace stepscope {

// Of a compiler at work or of a piece of a compiled program: never a step. `PjitFunction(...)` is none.
[[nodiscard]] bool is_compiler_span(std::string_view name);

struct ProgramRuns {
  StringId name;
  std::vector<Interval> runs;  // in order, disjoint
};

// The runs, on this thread, of the compiled function whose runs put most work on the GPU (without GPU: that took most
// time); nested repeats of a name are one. Spans and operators are looked at (jax.profiler's files have no spans but
// those with a step number). No runs where no function runs twice.
[[nodiscard]] ProgramRuns find_program_runs(const Trace& trace, ThreadId thread);

}  // namespace stepscope

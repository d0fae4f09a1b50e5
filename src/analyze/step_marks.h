// Where the host says that steps begin and end, from whichever source: spans, or a detected period.
//
// A source only finds marks; step_boundaries.h turns marks into steps on the GPU's clock. So every source gets
// the same treatment of asynchrony, of gaps between recording cycles and of a file that was cut.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/steps.h"

namespace stepscope {

struct StepMark {
  std::int64_t number = 0;
  Interval host;
  // The next mark does not follow at once (another recording cycle, or a last one): the step ends with its own host
  // span and the work launched in it, not where the next one begins.
  bool ends_alone = false;
};

// Steps::source_detail where an optimizer stepped once and nothing else marks a step: no name of a span would help.
inline constexpr std::string_view kOneStepsEnd = "only one step's end was recorded";
// What to do then, whatever recorded.
inline constexpr std::string_view kRecordTwoSteps = "A step lasts from one end to the next: record two steps or more.";

struct StepMarks {
  StepSource source = StepSource::kNone;
  std::string detail;
  ThreadId thread;
  std::vector<StepMark> marks;         // by host start, disjoint
  std::vector<std::int64_t> left_out;  // numbers of what is no whole step
  std::string renumbered;              // why positions stand for the file's numbers; empty if they do not
};

// ProfilerStep#N; the number is N.
[[nodiscard]] std::optional<StepMarks> find_profiler_steps(const Trace& trace);
// Says of ProfilerStep#N spans that the agent wrote what ended them.
void name_heard_steps(const Trace& trace, StepMarks& found);
// Spans of this very name, or of the name followed by `#` or a space and a number.
[[nodiscard]] std::optional<StepMarks> find_named_steps(const Trace& trace, const std::string& name);
// Spans with JAX's step_num, of the commonest such name.
[[nodiscard]] std::optional<StepMarks> find_numbered_steps(const Trace& trace);

// Sections 4 of findings.md; see detect_spans.cpp and detect_kernels.cpp. `main` is where steps would run.
[[nodiscard]] std::optional<StepMarks> detect_steps_by_spans(const Trace& trace, ThreadId main);
[[nodiscard]] std::optional<StepMarks> detect_steps_by_kernels(const Trace& trace, ThreadId main);
// Replays of the graph that does most work; missing when there is none, or when the marks that are `known` (nullptr:
// none) hold half of its replays or more.
[[nodiscard]] std::optional<StepMarks> detect_steps_by_graph(const Trace& trace, ThreadId main, const StepMarks* known);

// The thread that launches most work and does not run autograd's backward; empty without host events.
[[nodiscard]] ThreadId find_launching_thread(const Trace& trace);

// N of "ProfilerStep#N"; missing for other names.
[[nodiscard]] std::optional<std::int64_t> profiler_step_number(std::string_view span_name);

}  // namespace stepscope

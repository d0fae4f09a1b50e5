// stepscope stacks: folded stacks on standard output, one line a stack.
#include "analyze/stacks.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/recording_words.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope stacks trace.json --metric self_device_time_total > gpu.folded\n"
    "  stepscope stacks trace.json --metric self_cpu_time | flamegraph.pl > cpu.svg\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable, 4 something lost.\n";

// Why there is no line: each reason has its own way out.
std::string why_nothing(const Trace& trace, std::string_view metric) {
  const bool has_stacks =
      !trace.frames.empty() || std::any_of(trace.ops.call_stack.raw().begin(), trace.ops.call_stack.raw().end(),
                                           [](StringId stack) { return !stack.empty(); });
  if (!has_stacks && trace.info.producer == "capture") {
    return "no Python stacks in this capture: record with stepscope run (without --no-stacks) a program whose Python "
           "was there when the recording began";
  }
  if (!has_stacks) {
    return fit_recording_words(trace,
                               "no stacks in this file: record with torch.profiler.profile(..., with_stack=True)");
  }
  if (metric.starts_with("self_cpu_time")) return "no Python frame took a microsecond of its own";
  if (trace.gpu_events.empty()) return "no GPU work in this file; --metric self_cpu_time shows the host's time";
  return "no GPU work was launched under a Python frame; --metric self_cpu_time shows the host's time";
}

}  // namespace

int run_stacks(const Arguments& arguments, Console& console) {
  CLI::App app("Folded stacks for flame graphs: frames joined by `;`, then whole microseconds.", "stepscope stacks");
  std::string file, metric = "self_device_time_total";
  TraceOptions options;
  add_file_option(app, file);
  app.add_option("--metric", metric, "self_device_time (default) or self_cpu_time")->type_name("NAME");
  add_rank_and_threads(app, options);
  app.footer(kExamples);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  // Asked of an empty trace first, so that a wrong word is answered before a long file is read.
  if (!compute_folded_stacks(Trace(), metric)) {
    console.complain(
        fmt::format("--metric: no metric `{}`; type self_device_time_total or self_cpu_time_total", metric));
    return kExitUsage;
  }
  const OneTrace one = read_one_trace(file, options, console);
  if (!one.trace) return one.exit_code;
  const auto folded = compute_folded_stacks(*one.trace, metric);
  if (!folded || folded->empty()) {
    console.complain(file + ": " + why_nothing(*one.trace, metric));
    return kExitUnusable;
  }
  std::string text;
  for (const FoldedStack& stack : *folded) text += clean_text(stack.line()) + "\n";
  return console.write(text) ? one.exit_code : kExitUnusable;
}

}  // namespace stepscope

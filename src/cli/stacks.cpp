// stepscope stacks: folded stacks on standard output.
#include <fmt/format.h>

#include "cli/options.h"
#include "cli/reading.h"
#include "report/folded.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope stacks trace.json --metric self_device_time_total > gpu.folded\n"
    "  stepscope stacks trace.json --metric self_cpu_time_total --operators | flamegraph.pl > cpu.svg\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable, 4 read in part.\n";

// torch's names with and without _total, and its old names.
std::optional<StackMetric> metric_of(const std::string& name) {
  for (const char* known : {"self_device_time_total", "self_device_time", "self_cuda_time_total", "self_cuda_time"}) {
    if (name == known) return StackMetric::kSelfDeviceTime;
  }
  for (const char* known : {"self_cpu_time_total", "self_cpu_time"}) {
    if (name == known) return StackMetric::kSelfCpuTime;
  }
  return std::nullopt;
}

}  // namespace

int run_stacks(const Arguments& arguments, Console& console) {
  CLI::App app("Folded stacks for flame graphs: frames joined by `;`, then whole microseconds.", "stepscope stacks");
  std::string file, metric_name = "self_device_time_total";
  TraceOptions options;
  bool with_operators = false;
  add_file_option(app, file);
  app.add_option("--metric", metric_name, "self_device_time_total (default) or self_cpu_time_total");
  app.add_flag("--operators", with_operators, "put operators below the Python frames that called them");
  add_rank_and_threads(app, options);
  app.footer(kExamples);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  const auto metric = metric_of(metric_name);
  if (!metric) {
    console.complain(
        fmt::format("--metric: no metric `{}`; type self_device_time_total or self_cpu_time_total", metric_name));
    return kExitUsage;
  }
  const OneTrace one = read_one_trace(file, options, console);
  if (!one.trace) return one.exit_code;
  const FoldedStacks folded = compute_folded_stacks(*one.trace, *metric, with_operators);
  if (!folded.from_python_frames) {
    console.remark("No Python frames in this file (record with with_stack=True): stacks of spans and operators.");
  }
  return console.write(write_folded(*one.trace, folded)) ? one.exit_code : kExitUnusable;
}

}  // namespace stepscope

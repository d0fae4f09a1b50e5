// stepscope steps: one row a step.
#include "analyze/facts.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "report/step_table.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope steps trace.json\n"
    "  stepscope steps trace.json --steps train_step --csv > steps.csv\n\n"
    "A step begins where the GPU begins its work, so times are right even when\n"
    "the host runs ahead.\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable,\n             4 something was lost, or the times "
    "cannot be trusted.\n";

}  // namespace

int run_steps(const Arguments& arguments, Console& console) {
  CLI::App app("Every step: its time, how long the GPU worked, and why it did not.", "stepscope steps");
  std::string file;
  TraceOptions options;
  StyleOptions style;
  bool csv = false, json = false;
  add_file_option(app, file);
  auto* csv_flag = app.add_flag("--csv", csv, "comma-separated values, times in ns");
  app.add_flag("--json", json, "JSON (docs/formats/report.md)")->excludes(csv_flag);
  add_trace_options(app, options);
  add_style_options(app, style);
  app.footer(kExamples);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  const OneTrace one = read_one_trace(file, options, console);
  if (!one.trace) return one.exit_code;
  FactOptions fact_options;
  fact_options.steps.span_name = options.steps_name;
  fact_options.whole_file_window = options.window == "all";
  fact_options.device_number = options.device;
  const Facts facts = compute_facts(*one.trace, fact_options);
  const StepTable table = build_step_table(facts, *one.trace);
  const std::string text = json  ? write_steps_json(table)
                           : csv ? write_steps_csv(table)
                                 : write_steps_text(table, Console::style(style.colour, style.width));
  const int exit_code = table.headline_withheld ? kExitPartial : one.exit_code;
  return console.write(text) ? exit_code : kExitUnusable;
}

}  // namespace stepscope

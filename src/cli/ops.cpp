// stepscope ops: the table of key_averages.
#include <fmt/format.h>

#include "analyze/averages.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "report/ops_table.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope ops trace.json\n"
    "  stepscope ops trace.json --by shape --sort self_cpu_time_total --limit 20\n"
    "  stepscope ops trace.json --by stack\n"
    "  stepscope ops trace.json --csv > ops.csv\n"
    "  stepscope ops trace.json --json    keys and units of torch's key_averages()\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable, 4 something lost.\n";

struct Request {
  std::string file;
  TraceOptions trace;
  StyleOptions style;
  std::string by = "name";
  std::string sort;  // empty: device time if there is any, else CPU time
  std::optional<std::size_t> limit;
  std::size_t stack_depth = 5;
  bool csv = false;
  bool json = false;
};

GroupBy group_of(const std::string& by) {
  if (by == "shape") return GroupBy::kShape;
  if (by == "stack") return GroupBy::kStack;
  return by == "module" ? GroupBy::kModule : GroupBy::kName;
}

void add_options(CLI::App& app, Request& request) {
  add_file_option(app, request.file);
  app.add_option("--by", request.by, "what makes a row: name, shape, stack or module")
      ->type_name("WHAT")
      ->check(one_of({"name", "shape", "stack", "module"}));
  app.add_option("--sort", request.sort, "column to sort by, descending; none: as recorded")->type_name("KEY");
  app.add_option("--limit", request.limit, "rows to show (text: 30; CSV and JSON: all)")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000'000));
  app.add_option("--stack-depth", request.stack_depth, "frames that make a stack, with --by stack (5)")
      ->type_name("N")
      ->check(whole_number(1, 1000));
  auto* csv = app.add_flag("--csv", request.csv, "comma-separated values");
  app.add_flag("--json", request.json, "JSON (docs/formats/report.md)")->excludes(csv);
  add_rank_and_threads(app, request.trace);
  add_style_options(app, request.style);
  app.footer(kExamples);
}

std::string wrong_sort(const std::string& sort) {
  const auto keys = sort_keys();
  // Asking the sorter itself: it also accepts torch's old names, which are not listed.
  if (sort == "none" || sorted_rows(Averages{}, sort)) return "";
  std::string message = fmt::format("--sort: no column `{}`", clean_text(sort));
  const std::string_view nearest = nearest_word(sort, keys);
  if (!nearest.empty()) message += fmt::format("; did you mean {}?", nearest);
  message += "\nColumns:";
  for (const std::string_view key : keys) message += " " + std::string(key);
  return message;
}

}  // namespace

int run_ops(const Arguments& arguments, Console& console) {
  CLI::App app("Operators, calls and kernels by time, memory, FLOPs: torch's key_averages().", "stepscope ops");
  Request request;
  add_options(app, request);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  const std::string wrong = request.sort.empty() ? "" : wrong_sort(request.sort);
  if (!wrong.empty()) {
    console.complain_lines(wrong);
    return kExitUsage;
  }
  const OneTrace one = read_one_trace(request.file, request.trace, console);
  if (!one.trace) return one.exit_code;
  if (request.sort.empty()) {
    request.sort = one.trace->gpu_events.empty() ? "self_cpu_time_total" : "self_device_time_total";
  }
  AveragesOptions options;
  options.group_by = group_of(request.by);
  options.stack_depth = request.stack_depth;
  const Averages averages = compute_averages(*one.trace, options);
  OpsTable table{averages, {}, options.group_by, request.sort == "none" ? "" : request.sort};
  if (const auto sorted = sorted_rows(averages, request.sort)) table.rows = *sorted;
  for (std::size_t i = 0; table.sort_key.empty() && i < averages.rows.size(); ++i) table.rows.push_back(i);
  constexpr std::size_t kTextLimit = 30;
  const bool is_text = !request.csv && !request.json;
  const std::size_t limit = request.limit.value_or(is_text ? kTextLimit : table.rows.size());
  if (table.rows.size() > limit) table.rows.resize(limit);
  const std::string text = request.json ? write_ops_json(table)
                           : request.csv
                               ? write_ops_csv(table)
                               : write_ops_text(table, Console::style(request.style.colour, request.style.width));
  return console.write(text) ? one.exit_code : kExitUnusable;
}

}  // namespace stepscope

// stepscope report: read each file, compute facts, find, build; then print one report or a row for each.
#include <fmt/format.h>

#include <algorithm>

#include "cli/file_lists.h"
#include "cli/gathering.h"
#include "cli/options.h"
#include "cli/summarizing.h"
#include "cli/units.h"
#include "report/html/html_page.h"
#include "report/json.h"
#include "report/terminal.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope report trace.pt.trace.json.gz\n"
    "  stepscope report trace.json --finding 1     proof of the first finding\n"
    "  stepscope report trace.json --top 30        longer tables\n"
    "  stepscope report traces/                    all ranks of a run together\n"
    "  stepscope report run.sss --top 20           their summaries; 20 rows\n"
    "  stepscope report trace.json --steps train   the span `train` is one step\n"
    "  stepscope report trace.json --json | jq .verdict\n"
    "  zcat trace.json.gz | stepscope report -\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable,\n"
    "             4 something was lost, or no verdict is possible.\n";

struct Request {
  std::vector<std::string> files;
  TraceOptions trace;
  StyleOptions style;
  bool json = false;
  std::optional<std::size_t> top;
  std::optional<double> peak_flops_per_s;
  std::optional<std::size_t> finding;  // from 1
  std::string html;                    // a page to be written; empty: none
  unsigned jobs = 0;
  std::string engine;  // taken over by the Python package (hand_over.h); here for the help
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("FILE", request.files, "traces, .sss, DIR, 'GLOB', @LIST; -: standard input")
      ->required()
      ->type_name("");
  app.add_flag("--json", request.json, "a versioned document (docs/formats/report.md)");
  add_trace_options(app, request.trace);
  app.add_option("--top", request.top, "rows of each table (5; 0: no tables)")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000));
  app.add_option("--peak,--peak-flops", request.peak_flops_per_s, "FLOP/s of one GPU, dense, for MFU: 989T")
      ->type_name("X")
      ->transform(peak_flops());
  app.add_option("--finding", request.finding, "the proof of finding N, on the timeline")
      ->type_name("N")
      ->check(whole_number(1, 1000));
  app.add_option("--html", request.html, "write a page too, as `stepscope view` does; -: only it")->type_name("FILE");
  add_jobs_option(app, request.jobs);
  app.add_option("--engine", request.engine, "ray: on a cluster, local: here; by the Python package")
      ->type_name("NAME");
  add_style_options(app, request.style);
  app.footer(kExamples);
}

ReportOptions report_options(const Request& request, const Style& style) {
  constexpr std::size_t kDefaultTop = 5;  // both tables fit a second screen
  ReportOptions options;
  // The tables cost a pass of their own: JSON has them on request, and the view of one finding needs none.
  options.top_count = request.top.value_or(request.json || request.finding ? 0 : kDefaultTop);
  options.tables_when_withheld = request.top.has_value();
  if (request.finding) options.finding = *request.finding - 1;
  options.excerpt_cell_count = excerpt_cell_count(style);
  options.page = !request.html.empty();
  return options;
}

int print(const std::string& text, int exit_code, Console& console) {
  return console.write(text) ? exit_code : kExitUnusable;
}

int print_unusable(const UnusableFile& file, bool json, Console& console) {
  console.complain(file.error);
  return json ? print(write_json(file), kExitUnusable, console) : kExitUnusable;
}

// False: a page was asked for and could not be written.
template <class Reports>
bool write_page(const Reports& reports, const Request& request, Console& console) {
  if (request.html.empty()) return true;
  const Status written = write_html_file(request.html, write_html(reports));
  if (!written) console.complain(written.error());
  return written.has_value();
}

int print_one(const Report& report, const Request& request, const Style& style, Console& console) {
  if (request.html == "-") return print(write_html(report), exit_code_of(report.status), console);
  if (!write_page(report, request, console)) return kExitUnusable;
  const int exit_code = exit_code_of(report.status);
  if (request.json) return print(write_json(report), exit_code, console);
  if (!request.finding) return print(write_terminal(report, style), exit_code, console);
  return print(write_terminal_finding(report, style), exit_code, console);
}

int print_all(const RankReports& ranks, const Request& request, const Style& style, Console& console) {
  for (const UnusableFile& file : ranks.unusable) console.complain(file.error);
  if (request.html == "-") return print(write_html(ranks), exit_code_of(ranks.status), console);
  if (!write_page(ranks, request, console)) return kExitUnusable;
  // The errors have said all there is.
  const bool has_any = !ranks.reports.empty() || (ranks.fleet && !ranks.fleet->ranks.empty());
  if (!has_any && !request.json) return exit_code_of(ranks.status);
  const std::string text = request.json ? write_json(ranks) : write_terminal(ranks, style);
  return print(text, exit_code_of(ranks.status), console);
}

std::string check_html(const Request& request) {
  if (request.html == "-") {
    if (request.json || request.finding) return "--html - gives standard output to the page: --json or --finding apart";
    return Console::refuse_terminal("--html");
  }
  if (request.html.empty() || !is_input(request.html, request.files)) return "";
  return "--html " + request.html + " is a file that is read; name another";
}

std::string check_finding(const Gathered& gathered, const Request& request) {
  if (request.finding && gathered.is_summarized) return "--finding needs the trace of one rank: give that file";
  if (!request.finding || gathered.reports.empty()) return "";
  if (gathered.reports.size() > 1) return "--finding needs one recording: give one file, or --rank N";
  const std::size_t count = gathered.reports.front().findings.size();
  if (*request.finding <= count) return "";
  return count == 0 ? "this report has no findings"
                    : fmt::format("there is no finding {}; the last is {}", *request.finding, count);
}

}  // namespace

int run_report(const Arguments& arguments, Console& console) {
  CLI::App app("Where the step time goes, which fault costs most, what fixing it would bring.", "stepscope report");
  Request request;
  add_options(app, request);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  FileList list = expand_files(request.files, FileKind::kTraces);
  for (const std::string& remark : list.remarks) console.remark(remark);
  if (!list.wrong.empty()) {  // as a file that is not there
    console.complain(Error{ErrorCode::kNotFound, list.wrong, ""});
    return kExitUnusable;
  }
  request.files = std::move(list.files);
  const std::string wrong = check_html(request);
  if (!wrong.empty()) {
    console.complain(wrong);
    return kExitUsage;
  }
  const Style style = Console::style(request.style.colour, request.style.width);
  Gathered gathered = gather(
      {request.files, request.trace, request.peak_flops_per_s, report_options(request, style), nullptr, request.jobs});
  gathered.row_count = request.top.value_or(0);
  if (gathered.wrong.empty()) gathered.wrong = check_finding(gathered, request);
  if (!gathered.wrong.empty()) {
    console.complain(gathered.wrong);
    return kExitUsage;
  }
  if (!gathered.is_single()) return print_all(join(std::move(gathered)), request, style, console);
  if (!gathered.unusable.empty()) return print_unusable(gathered.unusable.front(), request.json, console);
  return print_one(gathered.reports.front(), request, style, console);
}

}  // namespace stepscope

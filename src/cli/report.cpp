// stepscope report: read each file, compute facts, find, build; then print one report or a row for each.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "analyze/facts.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "cli/units.h"
#include "report/json.h"
#include "report/terminal.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope report trace.pt.trace.json.gz\n"
    "  stepscope report trace.json --finding 1     proof of the first finding\n"
    "  stepscope report trace.json --top 30        longer tables\n"
    "  stepscope report rank*.json.gz              one row a file, worst first\n"
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
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("FILE", request.files, "traces (.json, .json.gz); - is standard input")->required()->type_name("");
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
  add_style_options(app, request.style);
  app.footer(kExamples);
}

ReportOptions report_options(const Request& request, const Style& style) {
  constexpr std::size_t kDefaultTop = 5;  // both tables fit a second screen
  ReportOptions options;
  options.asked = {request.trace.steps_name, request.trace.window == "all", request.trace.device, request.trace.rank};
  // The tables cost a pass of their own: JSON has them on request, and the view of one finding needs none.
  options.top_count = request.top.value_or(request.json || request.finding ? 0 : kDefaultTop);
  options.tables_when_withheld = request.top.has_value();
  if (request.finding) options.finding = *request.finding - 1;
  options.excerpt_cell_count = excerpt_cell_count(style);
  return options;
}

FactOptions fact_options(const Request& request) {
  FactOptions options;
  options.steps.span_name = request.trace.steps_name;
  options.whole_file_window = request.trace.window == "all";
  options.device_number = request.trace.device;
  options.peak_flops_per_s = request.peak_flops_per_s;
  return options;
}

// A recording with its facts, kept while several ranks are looked at together.
struct Recording {
  Trace trace;
  Facts facts;
};

// All recordings of all files.
struct Gathered {
  std::vector<Report> reports;
  std::vector<UnusableFile> unusable;
  std::vector<std::int64_t> ranks_seen;
  std::string wrong;  // what was asked does not fit; empty if it does
  // In the order of `reports`; empty when they are one, or too large to be kept together.
  std::vector<std::unique_ptr<Recording>> kept;
  std::uint64_t kept_text_bytes = 0;
  bool keep = true;
};

// A trace takes half a byte for each byte of JSON and its facts a third: what fits half of the machine is kept.
std::uint64_t most_text_bytes_kept() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::uint64_t{4} << 30;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) / 2;
}

void add_recording(Trace trace, const Request& request, const ReportOptions& options, Gathered& gathered) {
  auto recording = std::make_unique<Recording>();
  recording->trace = std::move(trace);
  recording->facts = compute_facts(recording->trace, fact_options(request));
  const RuleInput input{recording->trace, recording->facts};
  std::vector<Finding> findings = find_all(input);
  const std::string verdict = write_verdict(input, findings);
  gathered.reports.push_back(build_report(recording->trace, recording->facts, std::move(findings), verdict, options));
  gathered.kept_text_bytes += recording->trace.info.text_bytes;
  gathered.keep = gathered.keep && gathered.kept_text_bytes <= most_text_bytes_kept();
  if (gathered.keep) {
    gathered.kept.push_back(std::move(recording));
  } else {
    gathered.kept.clear();
  }
}

void add_file(const std::string& path, const Request& request, const ReportOptions& options, Gathered& gathered) {
  auto read = read_file(path, request.trace.threads);
  if (!read) {
    gathered.unusable.push_back({path, read.error()});
    return;
  }
  for (Trace& trace : *read) {
    if (trace.info.rank) gathered.ranks_seen.push_back(*trace.info.rank);
    if (request.trace.rank && trace.info.rank != request.trace.rank) continue;
    const std::string wrong = check_asked(trace, request.trace);
    if (!wrong.empty()) {
      gathered.wrong = fmt::format("{}: {}", path, wrong);
      return;
    }
    add_recording(std::move(trace), request, options, gathered);
  }
}

Gathered gather(const Request& request, const ReportOptions& options) {
  Gathered gathered;
  for (const std::string& path : request.files) {
    add_file(path, request, options, gathered);
    if (!gathered.wrong.empty()) return gathered;
  }
  if (request.trace.rank && gathered.reports.empty() && gathered.unusable.size() < request.files.size()) {
    const std::string present =
        gathered.ranks_seen.empty() ? "no file names its rank" : "there are: " + list_numbers(gathered.ranks_seen);
    gathered.wrong = fmt::format("no rank {}; {}", *request.trace.rank, present);
  }
  return gathered;
}

std::optional<JointFindings> find_together(const Gathered& gathered) {
  if (gathered.kept.size() != gathered.reports.size() || !are_ranks_of_one_run(gathered.reports)) return std::nullopt;
  std::vector<RuleInput> inputs;
  inputs.reserve(gathered.kept.size());
  for (const auto& recording : gathered.kept) inputs.push_back({recording->trace, recording->facts});
  JointFindings joint;
  joint.findings = find_over_ranks(inputs);
  joint.verdict = write_ranks_verdict(inputs, joint.findings);
  return joint;
}

int exit_code_of(ReportStatus status) {
  if (status == ReportStatus::kComplete) return kExitComplete;
  return status == ReportStatus::kPartial ? kExitPartial : kExitUnusable;
}

int print(const std::string& text, int exit_code, Console& console) {
  return console.write(text) ? exit_code : kExitUnusable;
}

int print_unusable(const UnusableFile& file, bool json, Console& console) {
  console.complain(file.error);
  return json ? print(write_json(file), kExitUnusable, console) : kExitUnusable;
}

int print_one(const Report& report, const Request& request, const Style& style, Console& console) {
  const int exit_code = exit_code_of(report.status);
  if (request.json) return print(write_json(report), exit_code, console);
  if (!request.finding) return print(write_terminal(report, style), exit_code, console);
  return print(write_terminal_finding(report, style), exit_code, console);
}

int print_all(const RankReports& ranks, const Request& request, const Style& style, Console& console) {
  for (const UnusableFile& file : ranks.unusable) console.complain(file.error);
  const std::string text = request.json ? write_json(ranks) : write_terminal(ranks, style);
  return print(text, exit_code_of(ranks.status), console);
}

std::string check_finding(const Gathered& gathered, const Request& request) {
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
  const Style style = Console::style(request.style.colour, request.style.width);
  Gathered gathered = gather(request, report_options(request, style));
  if (gathered.wrong.empty()) gathered.wrong = check_finding(gathered, request);
  if (!gathered.wrong.empty()) {
    console.complain(gathered.wrong);
    return kExitUsage;
  }
  const bool is_single = gathered.reports.size() + gathered.unusable.size() == 1;
  if (!is_single) {
    auto joint = find_together(gathered);
    return print_all(join_reports(std::move(gathered.reports), std::move(gathered.unusable), std::move(joint)), request,
                     style, console);
  }
  if (!gathered.unusable.empty()) return print_unusable(gathered.unusable.front(), request.json, console);
  return print_one(gathered.reports.front(), request, style, console);
}

}  // namespace stepscope

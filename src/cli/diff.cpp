// stepscope diff: what differs between two runs, and what explains it.
#include <fmt/format.h>

#include "cli/diff/sides.h"
#include "cli/diff/timelines.h"
#include "cli/file_lists.h"
#include "cli/gathering.h"
#include "cli/options.h"
#include "cli/reading.h"
#include "cli/summarizing.h"
#include "fleet/difference.h"
#include "report/diff_report.h"
#include "report/html/html_page.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope diff before.json.gz after.json.gz\n"
    "  stepscope diff base/ new.sss                    all ranks: a folder, a summary\n"
    "  stepscope diff run1.json.gz run2.json.gz --vs new1.json.gz new2.json.gz\n"
    "  stepscope diff before.pickle after.pickle       memory snapshots: by line\n"
    "  stepscope diff before.json.gz after.json.gz --json | jq -r .explanation\n\n"
    "A side is one recording, several of one program (each counts once), or the ranks\n"
    "of a run (matched by rank): traces, captures or summaries (.sss), by name, as a\n"
    "folder, a 'pattern' in quotes or @list.\n\n"
    "Parts sum to the difference of the mean step; those within their noise are said\n"
    "to be. docs/diff.md tells how noise is known.\n\n"
    "Exit status: 0 compared, whatever the answer, 2 wrong usage, 3 nothing usable or\n"
    "             not comparable, 4 something was lost or is missing on a side.\n";

struct Request {
  std::vector<std::string> files, others;
  TraceOptions trace;
  unsigned jobs = 0;
  std::optional<std::size_t> top;
  bool json = false;
  std::string html;
  StyleOptions style;
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("FILE", request.files, "A and B; with --vs all before it is side A")->required()->type_name("");
  app.add_option("--vs", request.others, "side B, where a side has several files")->type_name("FILE...");
  app.add_option("--top", request.top, "rows of each table (10); 0: the first screen only")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000'000));
  app.add_flag("--json", request.json, "a versioned document (docs/formats/diff.md)");
  app.add_option("--html", request.html, "also write the page: both steps, both timelines")->type_name("FILE");
  add_jobs_option(app, request.jobs);
  add_trace_options(app, request.trace);
  add_style_options(app, request.style);
  app.footer(kExamples);
}

// Sorts A from B. The sentence says what is wrong; empty when nothing is.
std::string sort_sides(Request& request) {
  if (!request.others.empty()) return "";
  if (request.files.size() == 1) return "B is missing: stepscope diff A B";
  if (request.files.size() > 2) {
    return fmt::format("{} files and no --vs: put it between those of A and those of B", request.files.size());
  }
  request.others = {request.files.back()};
  request.files.pop_back();
  return "";
}

// A file that is named twice is one recording. Names that are no files yet (patterns, lists) are kept.
void drop_repeated(std::vector<std::string>& names, Console& console) {
  std::vector<std::string> kept;
  for (std::string& name : names) {
    if (name == "-" || !is_input(name, kept)) {
      kept.push_back(std::move(name));
    } else {
      console.remark(name + ": is named twice on one side and counts once");
    }
  }
  names = std::move(kept);
}

std::string check_html(const Request& request) {
  if (request.html == "-") {
    if (request.json) return "--html - gives standard output to the page: --json apart";
    return Console::refuse_terminal("--html");
  }
  if (request.html.empty()) return "";
  if (!is_input(request.html, request.files) && !is_input(request.html, request.others)) return "";
  return "--html " + request.html + " is a file that is read; name another";
}

int complain_usage(const std::string& message, Console& console) {
  console.complain(message + "\nType `stepscope diff --help` for the options and examples.");
  return kExitUsage;
}

// Memory snapshots have no steps: what they hold at their peaks is compared by `memory --diff`.
int compare_snapshots(const Request& request, const std::vector<std::string>& before,
                      const std::vector<std::string>& after, Console& console) {
  if (before.size() > 1 || after.size() > 1) {
    console.complain("memory snapshots are compared one by one: stepscope memory A --diff B");
    return kExitUsage;
  }
  Arguments arguments = {before.front(), "--diff", after.front(), "--color", request.style.colour};
  if (request.json) arguments.emplace_back("--json");
  if (request.top) arguments.insert(arguments.end(), {"--top", std::to_string(*request.top)});
  if (request.style.width) arguments.insert(arguments.end(), {"--width", std::to_string(*request.style.width)});
  return run_memory(arguments, console);
}

int print(const DiffReport& report, const Request& request, Console& console) {
  if (request.html == "-") return console.write(write_html(report)) ? exit_code_of(report.status()) : kExitUnusable;
  if (!request.html.empty()) {
    const Status written = write_html_file(request.html, write_html(report));
    if (!written) {
      console.complain(written.error());
      return kExitUnusable;
    }
  }
  const std::string text = request.json
                               ? write_diff_json(report)
                               : write_diff_text(report, Console::style(request.style.colour, request.style.width));
  return console.write(text) ? exit_code_of(report.status()) : kExitUnusable;
}

int compare_runs(const Request& request, const std::vector<std::string>& before, const std::vector<std::string>& after,
                 Console& console) {
  const Summarized first = summarize_files({before, request.trace, std::nullopt, request.jobs});
  const Summarized second =
      first.wrong.empty() ? summarize_files({after, request.trace, std::nullopt, request.jobs}) : Summarized{};
  for (const Summarized* side : {&first, &second}) {
    if (!side->wrong.empty()) return complain_usage(side->wrong, console);
    for (const UnreadableRank& file : side->run.unreadable) {
      console.complain(error_of(file));
    }
    if (!side->run.ranks.empty()) continue;
    if (!side->run.unreadable.empty()) return kExitUnusable;
    console.complain(fmt::format("no rank {}", request.trace.rank.value_or(0)));
    return kExitUsage;
  }
  auto difference = compute_difference(first.run, second.run);
  if (!difference) {
    console.complain(difference.error());
    return kExitUnusable;
  }
  DiffReport report;
  report.difference = std::move(*difference);
  report.before_files = request.files;
  report.after_files = request.others;
  report.table_row_count = request.top.value_or(report.table_row_count);
  if (!request.html.empty()) {
    const RankDifference& drawn = report.difference.explaining();
    report.before_page = read_timeline(drawn.before, before, request.trace);
    if (!report.before_page.empty()) report.after_page = read_timeline(drawn.after, after, request.trace);
  }
  return print(report, request, console);
}

}  // namespace

int run_diff(const Arguments& arguments, Console& console) {
  CLI::App app("What differs between two runs, told apart from noise, and what explains it.", "stepscope diff");
  Request request;
  add_options(app, request);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  if (const std::string wrong = sort_sides(request); !wrong.empty()) return complain_usage(wrong, console);
  if (const std::string wrong = check_html(request); !wrong.empty()) return complain_usage(wrong, console);
  drop_repeated(request.files, console);
  drop_repeated(request.others, console);
  const FileList before = expand_files(request.files, FileKind::kTraces);
  const FileList after = expand_files(request.others, FileKind::kTraces);
  for (const FileList* side : {&before, &after}) {
    if (!side->wrong.empty()) {  // as a file that is not there
      console.complain(Error{ErrorCode::kNotFound, side->wrong, {}});
      return kExitUnusable;
    }
    for (const std::string& remark : side->remarks) console.remark(remark);
  }
  const SnapshotShare first = find_snapshots(before.files), second = find_snapshots(after.files);
  if (first == SnapshotShare::kNone && second == SnapshotShare::kNone) {
    return compare_runs(request, before.files, after.files, console);
  }
  if (first == SnapshotShare::kAll && second == SnapshotShare::kAll) {
    if (!request.html.empty()) return complain_usage("--html: stepscope view SNAPSHOT makes a page of each", console);
    return compare_snapshots(request, before.files, after.files, console);
  }
  return complain_usage("memory snapshots and recordings of steps cannot be compared with each other", console);
}

}  // namespace stepscope

// stepscope view: one HTML page that holds the report and the timeline, and asks the network for nothing.
//
// The page is named after the recording and lies in the current folder, since recordings often lie where one may not
// write. --open hands it to the desktop's own opener; where there is none (a server), the page is there all the same.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/gathering.h"
#include "cli/reading.h"
#include "cli/units.h"
#include "report/html/html_page.h"
#include "report/html/memory_data.h"
#include "report/numbers.h"
#include "report/text.h"

extern char** environ;

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope view trace.pt.trace.json.gz            writes trace.html\n"
    "  stepscope view trace.json.gz -o report.html --open\n"
    "  stepscope view rank*.json.gz -o run.html         one row a rank, on one clock\n"
    "  stepscope view run.sss                           the same, of summaries alone\n"
    "  stepscope view before.json.gz after.json.gz      both timelines, what differs\n"
    "  zcat trace.json.gz | stepscope view - -o - > page.html\n"
    "  stepscope view snapshot.pickle                   memory: _dump_snapshot's file\n\n"
    "The page is one file and loads nothing: mail it, or keep it with the results.\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable or not written,\n"
    "             4 something was lost, or no verdict is possible; the page says so.\n";

struct Request {
  GatherRequest gather;
  std::string output;
  bool open = false;
  std::string only_of_traces;  // an option that was given and asks what a memory snapshot cannot answer
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("FILE", request.gather.files, "traces (.json, .json.gz), captures, .sss, or one snapshot")
      ->required()
      ->type_name("");
  app.add_option("-o,--output", request.output, "page to write (FILE.html here); - is standard output")
      ->type_name("FILE");
  app.add_flag("--open", request.open, "open it in the browser");
  add_trace_options(app, request.gather.trace);
  app.add_option("--peak,--peak-flops", request.gather.peak_flops_per_s, "FLOP/s of one GPU, dense, for MFU: 989T")
      ->type_name("X")
      ->transform(peak_flops());
  app.footer(kExamples);
}

// "runs/loader.pt.trace.json.gz" -> "loader.html"
std::string page_name(const std::string& file) {
  // A pipe's name says nothing.
  std::string name = is_regular_file(file) ? std::filesystem::path(file).filename().string() : "report";
  for (const std::string_view suffix : {".gz", ".json", ".pickle", ".stepscope", ".sss", ".trace", ".pt"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name + ".html";
}

// The opener returns at once, so it is waited for: its exit status says whether there was anything to open with.
bool open_page(const std::string& path) {
  std::string opener = "xdg-open", file = std::filesystem::absolute(path).string();
  std::array<char*, 3> words = {opener.data(), file.data(), nullptr};
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  // Its chatter is of no use to whoever asked for a page.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  }
  pid_t child = 0;
  const bool started = posix_spawnp(&child, opener.c_str(), &actions, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return started && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int write_page(const std::string& html, const Request& request, int exit_code, Console& console) {
  if (request.output == "-") return console.write(html) ? exit_code : kExitUnusable;
  if (const Status written = write_html_file(request.output, html); !written) {
    console.complain(written.error());
    return kExitUnusable;
  }
  const std::string size = show_bytes(static_cast<std::int64_t>(html.size()));
  console.remark(fmt::format("wrote {} ({}); open it in a browser", request.output, size));
  if (request.open && !open_page(request.output)) console.remark("no browser could be opened from here (xdg-open)");
  return exit_code;
}

// Of several files: one that can be opened twice, as this one looks.
bool is_snapshot_file(const std::string& path) {
  if (!is_regular_file(path)) return false;
  const auto opened = open_file(path);
  return opened && is_snapshot(*opened);
}

// What is wrong with -o; empty if nothing.
std::string check_output(const Request& request) {
  if (request.output != "-") {
    if (!is_input(request.output, request.gather.files)) return "";
    return fmt::format("{}: is a file to be read; name another", request.output);
  }
  if (request.open) return "--open needs a file: -o FILE";
  return Console::refuse_terminal("-o");
}

int view_snapshot(OpenedFile file, const Request& request, Console& console) {
  const std::string& path = request.gather.files.front();
  if (!request.only_of_traces.empty()) {
    console.complain(fmt::format("{}: a memory snapshot, which has no {}", path, request.only_of_traces));
    return kExitUsage;
  }
  const auto snapshot = read_snapshot_file(std::move(file));
  if (!snapshot) {
    console.complain(snapshot.error());
    return kExitUnusable;
  }
  MemoryFacts facts = compute_memory_facts(*snapshot, {request.gather.trace.steps_name});
  if (const std::string unused = apply_map_beside(path, *snapshot, facts); !unused.empty()) {
    console.complain(clean_text(unused) + "; categories are inferred");
  }
  if (const std::string wrong = check_steps_name(*snapshot, facts, request.gather.trace.steps_name); !wrong.empty()) {
    console.complain(Error{ErrorCode::kInvalidArgument, wrong, path});
    return kExitUsage;
  }
  MemoryReportOptions options;
  options.device_number = request.gather.trace.device;
  // Ranking replays the history under some twenty settings: two seconds for so many entries (docs/performance.md).
  // `stepscope memory --what-if` waits longer; where memory ran out it is done in any case.
  constexpr std::size_t kMostRankedEntries = 1'000'000;
  options.rank_settings = snapshot->entries.size() <= kMostRankedEntries;
  const auto report = build_memory_report(*snapshot, facts, options);
  if (!report) {
    console.complain(report.error());
    return report.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitUnusable;
  }
  const std::string html = write_html(*report, build_memory_page_data(*snapshot, facts));
  return write_page(html, request, exit_code_of(report->status), console);
}

int view_traces(Request& request, Console& console) {
  request.gather.report.page = true;
  Gathered gathered = gather(request.gather);
  if (!gathered.wrong.empty()) {
    console.complain(gathered.wrong);
    return kExitUsage;
  }
  if (gathered.is_single() && !gathered.reports.empty()) {
    const Report& report = gathered.reports.front();
    return write_page(write_html(report), request, exit_code_of(report.status), console);
  }
  const RankReports ranks = join(std::move(gathered));
  for (const UnusableFile& file : ranks.unusable) console.complain(file.error);
  // Of summaries, and of very many traces, there are no whole reports: the page is of the ranks alone.
  const bool has_any = !ranks.reports.empty() || (ranks.fleet && !ranks.fleet->ranks.empty());
  if (!has_any) return kExitUnusable;
  return write_page(write_html(ranks), request, exit_code_of(ranks.status), console);
}

int view_one(Request& request, Console& console) {
  auto opened = open_file(request.gather.files.front(), request.gather.trace.threads);
  if (!opened) {
    console.complain(opened.error());
    return kExitUnusable;
  }
  if (is_snapshot(*opened)) return view_snapshot(std::move(*opened), request, console);
  request.gather.opened = &*opened;
  return view_traces(request, console);
}

}  // namespace

int run_view(const Arguments& arguments, Console& console) {
  CLI::App app("The report and the timeline as one HTML page.", "stepscope view");
  Request request;
  add_options(app, request);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  if (request.output.empty()) request.output = page_name(request.gather.files.front());
  for (const char* option : {"--rank", "--window", "--peak"}) {
    if (request.only_of_traces.empty() && app.count(option) > 0) request.only_of_traces = option;
  }
  if (const std::string wrong = check_output(request); !wrong.empty()) {
    console.complain(wrong);
    return kExitUsage;
  }
  if (request.gather.files.size() == 1) return view_one(request, console);
  if (std::any_of(request.gather.files.begin(), request.gather.files.end(), is_snapshot_file)) {
    console.complain("a memory snapshot makes a page of its own: give one file");
    return kExitUsage;
  }
  return view_traces(request, console);
}

}  // namespace stepscope

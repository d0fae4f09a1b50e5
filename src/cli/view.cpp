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
#include "import/bytes/byte_source.h"
#include "memory/snapshot_reader.h"
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
    "  stepscope view run.stepscope -o - > run.html\n"
    "  stepscope view snapshot.pickle                   memory: _dump_snapshot's file\n\n"
    "The page is one file and loads nothing: mail it, or keep it with the results.\n\n"
    "Exit status: 0 read whole, 2 wrong usage, 3 nothing usable or not written,\n"
    "             4 something was lost, or no verdict is possible; the page says so.\n";

struct Request {
  GatherRequest gather;
  std::string output;
  bool open = false;
};

void add_options(CLI::App& app, Request& request) {
  app.add_option("FILE", request.gather.files, "traces (.json, .json.gz), captures, or one snapshot")
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
  std::string name = file == "-" ? "report" : std::filesystem::path(file).filename().string();
  for (const std::string_view suffix : {".gz", ".json", ".pickle", ".stepscope", ".trace", ".pt"}) {
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

// Enough to tell a snapshot from a trace.
constexpr std::size_t kPrefixBytes = 4096;

bool is_snapshot(const std::string& path) {
  if (path == "-") return false;
  const auto opened = open_bytes(path, false);
  if (!opened) return false;
  std::string prefix(kPrefixBytes, '\0');
  const auto got = read_fully(**opened, prefix.data(), prefix.size());
  if (!got) return false;
  prefix.resize(*got);
  return looks_like_snapshot(prefix);
}

int view_snapshot(const Request& request, Console& console) {
  const auto snapshot = read_snapshot_file(request.gather.files.front());
  if (!snapshot) {
    console.complain(snapshot.error());
    return kExitUnusable;
  }
  MemoryFacts facts = compute_memory_facts(*snapshot, {request.gather.trace.steps_name});
  if (const std::string unused = apply_map_beside(request.gather.files.front(), *snapshot, facts); !unused.empty()) {
    console.complain(clean_text(unused) + "; categories are inferred");
  }
  MemoryReportOptions options;
  options.device_number = request.gather.trace.device;
  const auto report = build_memory_report(*snapshot, facts, options);
  if (!report) {
    console.complain(report.error());
    return report.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitUnusable;
  }
  const std::string html = write_html(*report, build_memory_page_data(*snapshot, facts));
  return write_page(html, request, exit_code_of(report->status), console);
}

}  // namespace

int run_view(const Arguments& arguments, Console& console) {
  CLI::App app("The report and the timeline as one HTML page.", "stepscope view");
  Request request;
  add_options(app, request);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  if (request.output.empty()) request.output = page_name(request.gather.files.front());
  if (is_input(request.output, request.gather.files)) {
    console.complain(fmt::format("{}: is a file to be read; name another", request.output));
    return kExitUsage;
  }
  if (std::any_of(request.gather.files.begin(), request.gather.files.end(), is_snapshot)) {
    if (request.gather.files.size() == 1) return view_snapshot(request, console);
    console.complain("a memory snapshot makes a page of its own: give one file");
    return kExitUsage;
  }
  request.gather.report.page = true;
  Gathered gathered = gather(request.gather);
  if (!gathered.wrong.empty()) {
    console.complain(gathered.wrong);
    return kExitUsage;
  }
  for (const UnusableFile& file : gathered.unusable) console.complain(file.error);
  if (gathered.reports.empty()) return kExitUnusable;
  if (gathered.is_single()) {
    const Report& report = gathered.reports.front();
    return write_page(write_html(report), request, exit_code_of(report.status), console);
  }
  const RankReports ranks = join(std::move(gathered));
  return write_page(write_html(ranks), request, exit_code_of(ranks.status), console);
}

}  // namespace stepscope

// stepscope run: any program with the agent in it, and the verdict when it ends.
//
// Standard output belongs to the program, whatever happens: all that we say goes to standard error, and the exit status
// is the program's. Before it starts, what cannot work is refused (a directory that cannot be written), since nothing
// is lost then; once it runs, nothing of ours ends it. The report is made by a second process of this program, so that
// a capture too large for the memory costs the report and not the exit status.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "cli/options.h"
#include "cli/run/environment.h"
#include "cli/run/launch.h"
#include "cli/run/outcome.h"
#include "cli/run/program.h"
#include "report/text.h"
#include "stepscope/schedule.h"

extern char** environ;  // NOLINT: declared nowhere else

namespace stepscope {
namespace {

// What shells and env, nice, timeout say.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope run -- python train.py --epochs 1\n"
    "  stepscope run --schedule skip=10,warmup=2,active=3,repeat=1 -- python t.py\n"
    "  stepscope run --every 100 --out captures -- torchrun --nproc-per-node 8 t.py\n"
    "  stepscope run --paused -- ./server      (then: stepscope ctl start)\n"
    "  stepscope run --dry-run -- python train.py\n\n"
    "The program keeps its input, output, signals and exit status; what we say goes\n"
    "to standard error. One capture file a process and rank. Without --schedule\n"
    "and --every everything is recorded. Steps end at a ProfilerStep#N span, an\n"
    "optimizer's step, or the span that --step names.\n\n"
    "Exit status: the program's; 2 wrong usage, 3 the captures cannot be written,\n"
    "             126 not executable, 127 not found.\n";

struct Options {
  AgentOptions agent;
  std::optional<std::uint64_t> every;
  std::string signal;
  std::string out = "stepscope-captures";
  bool no_report = false;
  bool no_stacks = false;
  bool no_gpu = false;
  bool dry_run = false;
  Arguments command;
};

class RunFormatter final : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS] -- CMD [ARGS...]\n";
  }
};

std::string check_schedule(const std::string& text) {
  const auto schedule = parse_schedule(text);
  return schedule ? "" : schedule.error().message;
}

// Those that mean nothing of their own; 0: another.
std::uint64_t signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  return name == "USR1" ? SIGUSR1 : name == "USR2" ? SIGUSR2 : 0;
}

std::string check_signal(const std::string& name) { return signal_number(name) != 0 ? "" : "takes SIGUSR1 or SIGUSR2"; }

void add_options(CLI::App& app, Options& options) {
  AgentOptions& agent = options.agent;
  app.add_option("--schedule", agent.schedule, "which steps: skip=,wait=,warmup=,active=,repeat=")
      ->type_name("S")
      ->check(CLI::Validator(check_schedule, ""));
  app.add_option("--every", options.every, "3 recorded steps in each N")
      ->type_name("N")
      ->check(whole_number(3, 1'000'000'000));
  app.add_option("--out", options.out, "directory of the captures (stepscope-captures)")->type_name("DIR");
  app.add_option("--step", agent.step_name, "span or NVTX range whose end is a step's end")->type_name("NAME");
  app.add_flag("--shapes", agent.shapes, "shapes of the operators' inputs: FLOPs and MFU");
  app.add_flag("--no-stacks", options.no_stacks, "without the Python line behind each launch");
  app.add_flag("--stacks")->group("");
  app.add_flag("--graphs", agent.graphs, "operators of CUDA graphs captured outside windows too");
  app.add_flag("--memory", agent.memory, "allocations, peaks by step, snapshots");
  app.add_flag("--no-gpu", options.no_gpu, "without kernels and copies");
  app.add_flag("--gpu")->group("");
  app.add_flag("--children", agent.follow_children, "forked children too (data loaders' workers)");
  app.add_flag("--paused", agent.start_paused, "record from `stepscope ctl start` on");
  app.add_option("--signal", options.signal, "USR1 or USR2: starts recording, then stops it")
      ->type_name("SIG")
      ->check(CLI::Validator(check_signal, ""));
  app.add_flag("--no-report", options.no_report, "no verdict at the end");
  app.add_flag("--dry-run", options.dry_run, "show what would be set, and run nothing");
  app.formatter(std::make_shared<RunFormatter>());
  app.footer(kExamples);
}

std::string own_path() {
  char path[PATH_MAX] = {};
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : "";
}

std::string search_path() {
  const char* const path = std::getenv("PATH");
  return path == nullptr ? "/bin:/usr/bin" : path;
}

std::string joined(const Arguments& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quote_for_shell(word);
  return line;
}

// Of a path in what a user may type again: short where it lies below the current directory.
std::string shown_path(const std::string& path) {
  std::error_code failed;
  const std::string here = std::filesystem::current_path(failed).string() + "/";
  return !failed && path.starts_with(here) ? path.substr(here.size()) : path;
}

int complain_of_program(const std::string& name, int error, Console& console) {
  if (error == ENOENT) {
    const bool is_path = name.find('/') != std::string::npos;
    console.complain(
        fmt::format("cannot run `{}`: {}", clean_text(name), is_path ? "there is no such file" : "not found in PATH"));
    return kNotFound;
  }
  console.complain(fmt::format("cannot run `{}`: {}", clean_text(name),
                               error == EACCES ? "it may not be executed" : std::strerror(error)));
  return error == ENOTDIR || error == ENAMETOOLONG ? kNotFound : kNotExecutable;
}

// Makes the directory, with those above it. The sentence says what is wrong; empty when nothing is.
std::string prepare_directory(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return fmt::format("cannot make the directory {}: {}", clean_text(path), failed.message());
  if (::access(path.c_str(), W_OK | X_OK) == 0) return "";
  return fmt::format("cannot write captures into {}: {}", clean_text(path), std::strerror(errno));
}

int show_plan(const Options& options, const EnvironmentPlan& plan, Console& console) {
  std::string text;
  for (const auto& [name, value] : plan.variables) text += fmt::format("{}={} \\\n", name, quote_for_shell(value));
  return console.write(text + joined(options.command) + "\n") ? kExitComplete : kExitUnusable;
}

class Session {
 public:
  Session(Options options, Console& console) : options_(std::move(options)), console_(console) {}
  // The exit status, unless the program ran: then end() says how it ended.
  int run();
  [[nodiscard]] const std::optional<LaunchEnd>& end() const { return end_; }

 private:
  int launch(const std::string& path, const EnvironmentPlan& plan);
  void tell_outcome(const LaunchEnd& end, SignalRelay& relay);
  void report(const std::vector<std::string>& files, SignalRelay& relay);
  void tell_snapshots(const std::vector<AgentStatus>& agents, const char* host);
  void say(const std::string& sentence) { console_.complain(sentence); }

  Options options_;
  Console& console_;
  std::optional<AgentFolder> folder_;
  std::optional<LaunchEnd> end_;
  std::string not_preloaded_;
  std::vector<std::string> before_, snapshots_before_;
};

int Session::run() {
  const FoundProgram program = find_program(options_.command.front(), search_path());
  if (program.error != 0) return complain_of_program(options_.command.front(), program.error, console_);
  const auto files = find_agent(own_path());
  if (!files) {
    say("the agent, lib/stepscope/libstepscope_agent.so, is not there; it is built and installed with this program");
    return kExitUnusable;
  }
  std::error_code failed;
  options_.agent.directory = std::filesystem::absolute(options_.out, failed).lexically_normal().string();
  if (!options_.dry_run) options_.agent.control_socket = folder_.emplace().socket_pattern();
  const EnvironmentPlan plan =
      plan_environment(*files, options_.agent, [](const char* name) { return std::getenv(name); });
  for (const std::string& remark : plan.remarks) say(clean_text(remark));
  not_preloaded_ = why_not_preloaded(program.path, search_path());
  if (!not_preloaded_.empty()) say(clean_text(not_preloaded_) + "; what it uses of CUDA is seen all the same");
  if (options_.dry_run) return show_plan(options_, plan, console_);
  if (const std::string wrong = prepare_directory(options_.agent.directory); !wrong.empty()) {
    say(wrong);
    return kExitUnusable;
  }
  before_ = list_captures(options_.agent.directory);
  snapshots_before_ = list_captures(options_.agent.directory, kSnapshotEnding);
  return launch(program.path, plan);
}

int Session::launch(const std::string& path, const EnvironmentPlan& plan) {
  SignalRelay relay;
  const LaunchEnd end = relay.run({path, options_.command, apply_plan(plan, environ)});
  if (end.start_error != 0) return complain_of_program(options_.command.front(), end.start_error, console_);
  end_ = end;
  tell_outcome(end, relay);
  return kExitComplete;
}

void Session::tell_outcome(const LaunchEnd& end, SignalRelay& relay) {
  const std::vector<AgentStatus> agents = folder_->read_all();
  char host[256] = {};
  (void)::gethostname(host, sizeof host - 1);
  const std::string& directory = options_.agent.directory;
  std::vector<std::string> files = captures_of_run(before_, list_captures(directory), agents, host);
  tell_snapshots(agents, host);
  for (std::string& file : files) file.insert(0, shown_path(directory) + "/");
  const WhatWasAsked asked{options_.agent.step_name, !options_.agent.schedule.empty() || options_.agent.every != 0,
                           options_.agent.start_paused};
  if (files.empty()) {
    say("nothing was captured: " + clean_text(why_nothing(agents, not_preloaded_, asked)));
    return;
  }
  if (const std::string name = step_not_seen(agents, asked); !name.empty()) {
    say("--step: " + clean_text(name) + "; the report looks for steps by itself");
  }
  // Whoever ends a job by these gives it seconds.
  const bool is_hurried = end.asked_to_end && *end.asked_to_end != SIGINT;
  if (!options_.no_report && !is_hurried) report(files, relay);
  std::string line = "stepscope report";
  for (const std::string& file : files) line += " " + quote_for_shell(file);
  constexpr std::size_t kMostNamed = 4;  // fits on a screen; more are ranks of one run
  if (files.size() > kMostNamed)
    line = fmt::format("stepscope report {}/*.stepscope", quote_for_shell(shown_path(directory)));
  console_.remark_lines(
      (options_.no_report || is_hurried ? "stepscope: captured; to see it: " : "stepscope: to see it again: ") +
      clean_text(line) + "\n");
}

void Session::tell_snapshots(const std::vector<AgentStatus>& agents, const char* host) {
  constexpr std::size_t kMostNamed = 4;
  const std::string& directory = options_.agent.directory;
  const std::vector<std::string> files =
      captures_of_run(snapshots_before_, list_captures(directory, kSnapshotEnding), agents, host);
  for (std::size_t i = 0; i < std::min(files.size(), kMostNamed); ++i) {
    const std::string shown = quote_for_shell(shown_path(directory) + "/" + files[i]);
    console_.remark_lines("stepscope: memory snapshot: stepscope memory " + clean_text(shown) + "\n");
  }
  if (files.size() > kMostNamed)
    console_.remark_lines(fmt::format("  and {} more beside it\n", files.size() - kMostNamed));
}

void Session::report(const std::vector<std::string>& files, SignalRelay& relay) {
  LaunchRequest request;
  request.path = own_path();
  request.argv = {"stepscope", "report"};
  request.argv.insert(request.argv.end(), files.begin(), files.end());
  for (char** each = environ; *each != nullptr; ++each) request.environment.emplace_back(*each);
  const LaunchEnd end = relay.run(request, true);
  if (end.start_error != 0) say(fmt::format("no report: {}", std::strerror(end.start_error)));
  if (end.signal) say(fmt::format("the report was ended by signal {}", *end.signal));
}

}  // namespace

namespace {

// Of the words that the parser left over, the one that was written first and is no option; empty: there is none.
std::string first_word_of(const Arguments& written, const Arguments& left) {
  for (const std::string& each : written) {
    if (!each.starts_with('-') && std::find(left.begin(), left.end(), each) != left.end()) return each;
  }
  return "";
}

}  // namespace

int run_run(const Arguments& arguments, Console& console) {
  CLI::App app("Runs a program, records its training steps, and says where the time goes.", "stepscope run");
  Options options;
  add_options(app, options);
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  const Arguments own(arguments.begin(), separator);
  // Without `--` the parser would name the words of the command, in its own order, as arguments that it does not know.
  app.allow_extras(separator == arguments.end());
  if (const auto ended = parse_arguments(app, own, console)) return *ended;
  if (const Arguments left = app.remaining(); !left.empty()) {
    const std::string program = first_word_of(own, left);
    app.allow_extras(false);
    if (program.empty()) return *parse_arguments(app, own, console);  // a mistyped option
    console.complain(
        fmt::format("`{}` is no option; put `--` before the command: stepscope run -- {} ...\n"
                    "Type `stepscope run --help` for the options and examples.",
                    clean_text(program), clean_text(program)));
    return kExitUsage;
  }
  if (separator != arguments.end()) options.command.assign(separator + 1, arguments.end());
  if (options.command.empty()) {
    console.complain(
        "no command; write it behind `--`: stepscope run -- python train.py\n"
        "Type `stepscope run --help` for the options and examples.");
    return kExitUsage;
  }
  if (options.every && !options.agent.schedule.empty()) {
    console.complain("--every and --schedule both say which steps to record; give one of them");
    return kExitUsage;
  }
  options.agent.every = options.every.value_or(0);
  options.agent.toggle_signal = signal_number(options.signal);
  options.agent.stacks = !options.no_stacks;
  options.agent.gpu = !options.no_gpu;
  std::optional<LaunchEnd> end;
  int exit_code = kExitComplete;
  {
    Session session(std::move(options), console);
    exit_code = session.run();
    end = session.end();
  }
  return end ? end_like(*end) : exit_code;
}

}  // namespace stepscope

// stepscope bench: a whole command timed, or two compared in turns.
//
// The words behind `--` are the command's own and never looked at, but for a `--vs` that stands between two commands. A
// quoted command (`--vs 'B x'`) was rejected: it needs rules for splitting, which --shell already has.
#include "cli/bench/bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>

#include "cli/options.h"
#include "report/numbers.h"
#include "report/text.h"
#include "stepscope/clock.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  stepscope bench -- ./train --steps 10\n"
    "  stepscope bench --runs 30 -- ./old data.bin --vs ./new data.bin\n"
    "  stepscope bench --shell -- 'gzip -1 < f | wc -c' --vs 'gzip -9 < f | wc -c'\n"
    "  stepscope bench --json -- ./train | jq .commands[0].median_ns\n\n"
    "Two commands take turns (A B B A or B A A B, drawn by --seed), and neighbouring\n"
    "runs are compared, so that a machine that grows slower harms neither. The\n"
    "verdict says `no difference can be told` unless the 95 % interval excludes it.\n\n"
    "Times include starting the process. Standard input is empty, output is\n"
    "discarded. Ctrl-C ends the command and shows what was measured so far.\n\n"
    "Exit status: 0 measured, 2 wrong usage or no such command, 3 a command failed.\n";

struct Options {
  BenchRequest request;
  StyleOptions style;
  std::optional<double> min_time_s;
  bool json = false;
};

std::string check_seconds(const std::string& text) {
  const double value = std::strtod(text.c_str(), nullptr);
  constexpr double kMost = 1e6;  // 11 days
  return std::isfinite(value) && value > 0 && value <= kMost ? "" : "must be seconds above 0, such as 10 or 0.5";
}

// CLI11 does not see the words behind `--`, so it could not name them.
class BenchFormatter final : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTIONS] -- CMD [ARGS...] [--vs CMD [ARGS...]]\n";
  }
};

void add_options(CLI::App& app, Options& options) {
  MeasurePlan& plan = options.request.plan;
  app.add_option("--warmup", plan.warm_up_count, "runs before, not counted (1)")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000));
  app.add_option("--runs", plan.run_count, "runs of each command")->type_name("N")->check(whole_number(1, 1'000'000));
  app.add_option("--min-time", options.min_time_s, "or so many seconds of it, and at least 10 runs (3)")
      ->type_name("S")
      ->check(CLI::Validator(check_seconds, ""));
  app.add_option("--seed", plan.seed, "of the order and the intervals (1)")
      ->type_name("N")
      ->check(whole_number(0, 1'000'000'000));
  app.add_flag("--shell", options.request.by_shell, "the words, joined, are a line for `sh -c`");
  app.add_flag("--show-output", options.request.show_output, "let the command print");
  app.add_flag("--ignore-failure", plan.ignore_failure, "go on when a run fails");
  app.add_flag("--json", options.json, "a versioned document (docs/formats/bench.md)");
  add_style_options(app, options.style);
  app.formatter(std::make_shared<BenchFormatter>());
  app.footer(kExamples);
}

// Words behind `--`, parted at `--vs`. The sentence says what is wrong; empty when nothing is.
std::string split_commands(const Arguments& words, std::vector<std::vector<std::string>>& commands) {
  commands.emplace_back();
  for (const std::string& word : words) {
    if (word == "--vs") {
      commands.emplace_back();
    } else {
      commands.back().push_back(word);
    }
  }
  if (commands.size() > 2) return "--vs compares two commands; there are " + std::to_string(commands.size());
  if (commands.front().empty()) return "no command behind `--`";
  if (commands.back().empty()) return "no command behind `--vs`";
  return "";
}

// No `--`: what was probably meant.
std::string missing_separator(const Arguments& arguments) {
  const auto word = std::find_if(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return !argument.starts_with("-") && argument.find_first_not_of("0123456789.") != std::string::npos;
  });
  std::string meant = "CMD";
  if (word != arguments.end()) {
    meant.clear();
    for (auto at = word; at != arguments.end(); ++at) meant += (at == word ? "" : " ") + *at;
  }
  return "no command; write it behind `--`: stepscope bench -- " + clean_text(meant);
}

// What is going on, on a terminal, at most ten times a second; wiped at the end.
class BenchProgress {
 public:
  explicit BenchProgress(std::size_t command_count) : two_(command_count > 1) {}
  BenchProgress(const BenchProgress&) = delete;
  BenchProgress& operator=(const BenchProgress&) = delete;
  ~BenchProgress() {
    if (drawn_) draw("\r\x1b[K");
  }

  void update(const MeasureProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    drawn_ = true;
    std::string text = progress.in_warm_up ? "warm-up" : fmt::format("run {}", show_count(progress.done_count + 1));
    if (!progress.in_warm_up) {
      text += progress.all_count ? fmt::format(" of {}", show_count(*progress.all_count))
                                 : fmt::format(", {:.1f} of {:.1f} s", static_cast<double>(progress.done_ns) / 1e9,
                                               static_cast<double>(progress.all_ns) / 1e9);
    }
    if (two_) text += progress.command == 0 ? " (A)" : " (B)";
    draw("\r" + text + "\x1b[K");
  }

 private:
  static void draw(const std::string& text) {
    // Progress that cannot be shown is no reason to stop.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  }

  bool two_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

BenchResult measure(const BenchRequest& request, ProcessRunner& runner) {
  const MachineState before = read_machine_state();
  // Before and after: what other programs do only makes it longer, so the lower median is nearer to the truth.
  const auto empty_before_ns = measure_empty_command(runner, request.by_shell);
  CommandTimes times;
  {
    BenchProgress progress(request.commands.size());
    // The command's own output and our line would mix.
    const bool shown = Console::stderr_is_terminal() && !request.show_output;
    times = measure_commands(runnable_commands(request), request.plan, runner, [&](const MeasureProgress& now) {
      if (shown) progress.update(now);
    });
  }
  std::optional<DurationNs> empty_command_ns = empty_before_ns;
  if (empty_before_ns && !times.failure && !times.interrupted_by) {
    const auto empty_after_ns = measure_empty_command(runner, request.by_shell);
    empty_command_ns = std::min(*empty_before_ns, empty_after_ns.value_or(*empty_before_ns));
  }
  return analyze_bench(request, std::move(times), empty_command_ns, before, read_machine_state(),
                       find_spoiled_timing());
}

void complain_of_failure(const BenchResult& result, Console& console) {
  const CommandFailure& failure = *result.failure;
  if (failure.error) {
    console.complain(*failure.error);
    return;
  }
  const CommandSummary& command = result.commands[failure.command];
  const std::string when = failure.in_warm_up ? "in its warm-up" : fmt::format("in run {}", command.runs.size() + 1);
  std::string text = fmt::format("`{}` failed {}: {}. --ignore-failure measures it all the same.",
                                 clean_text(command.line), when, end_words(*failure.run));
  // The last five lines are what a person would look at first.
  std::string_view end = failure.run->stderr_end;
  while (!end.empty() && end.back() == '\n') end.remove_suffix(1);
  std::size_t begin = end.size();
  for (int line = 0; line < 5 && begin != std::string_view::npos && begin > 0; ++line)
    begin = end.rfind('\n', begin - 1);
  end = begin == std::string_view::npos || begin == 0 ? end : end.substr(begin + 1);
  if (!end.empty()) text += "\nThe end of its standard error:\n" + std::string(end);
  console.complain_lines(text);
}

// Dies of the signal that ended the measurement, so that a shell's loop around this program ends too.
int end_by_signal(int signal) {
  (void)std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
  return 128 + signal;  // a signal that was blocked from outside
}

int print(const Options& options, const BenchResult& result, Console& console) {
  const bool has_runs = std::all_of(result.commands.begin(), result.commands.end(),
                                    [](const CommandSummary& summary) { return !summary.runs.empty(); });
  if (result.failure) complain_of_failure(result, console);
  const bool is_no_command = result.failure && result.failure->error && result.failure->error->code != ErrorCode::kIo &&
                             result.failure->error->code != ErrorCode::kUnsupported;
  if (is_no_command) return kExitUsage;
  if (options.json) {
    if (!console.write(write_bench_json(options.request, result))) return kExitUnusable;
  } else if (!result.failure && has_runs) {
    const Style style = Console::style(options.style.colour, options.style.width);
    if (!console.write(write_bench_text(options.request, result, style))) return kExitUnusable;
  } else if (!result.failure) {
    console.complain("interrupted before there was anything to tell");
  }
  return result.failure ? kExitUnusable : kExitComplete;
}

}  // namespace

int run_bench(const Arguments& arguments, Console& console) {
  CLI::App app("Times a whole command: median, spread, CPU time, memory; or compares two.", "stepscope bench");
  Options options;
  add_options(app, options);
  const auto separator = std::find(arguments.begin(), arguments.end(), "--");
  const Arguments own(arguments.begin(), separator);
  std::string wrong;
  if (std::find(own.begin(), own.end(), "--vs") != own.end() && separator != arguments.end()) {
    wrong = "--vs stands behind the first command: -- CMD --vs CMD";
  } else if (separator == arguments.end()) {
    wrong = missing_separator(arguments);
    const auto is_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
    if (std::any_of(own.begin(), own.end(), is_help)) wrong.clear();
  } else {
    wrong = split_commands(Arguments(separator + 1, arguments.end()), options.request.commands);
  }
  if (wrong.empty()) {
    if (const auto ended = parse_arguments(app, own, console)) return *ended;
  } else {
    console.complain(wrong + "\nType `stepscope bench --help` for the options and examples.");
    return kExitUsage;
  }
  if (options.min_time_s && options.request.plan.run_count) {
    console.complain("--runs and --min-time both say when to stop; give one of them");
    return kExitUsage;
  }
  if (options.json && options.request.show_output) {
    console.complain("--json and --show-output would mix on standard output; give one of them");
    return kExitUsage;
  }
  if (options.min_time_s) options.request.plan.min_time_ns = std::llround(*options.min_time_s * 1e9);
  BenchResult result;
  {
    const auto runner = make_process_runner();
    if (!runner) {
      console.complain(runner.error());
      return kExitUnusable;
    }
    result = measure(options.request, **runner);
  }
  const int exit_code = print(options, result, console);
  return result.interrupted_by ? end_by_signal(*result.interrupted_by) : exit_code;
}

}  // namespace stepscope

// stepscope gate: is the new run slower, or does it need more memory, than is allowed? One line and an exit status.
//
// The base is a file to be committed: with --update-base it becomes the new run's summary, only after the gate has
// passed, or by --force. The exit status is the gate's answer also then.
#include "fleet/gate.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "cli/console.h"
#include "cli/gate/inputs.h"
#include "cli/gate/limits.h"
#include "cli/gathering.h"
#include "cli/options.h"
#include "export/text_sink.h"
#include "fleet/difference.h"
#include "fleet/summary_file.h"
#include "import/bytes/byte_source.h"
#include "report/gate_report.h"
#include "report/numbers.h"

namespace stepscope {
namespace {

constexpr const char* kExamples =
    "A file is a trace, a capture, a summary (.sss), a memory snapshot, a list of\n"
    "step times (one number a line, or JSON), `steps --json` or `bench --json`.\n"
    "A folder is its files, so are a 'pattern' and @list. Several runs or ranks a\n"
    "side: BASE... --vs NEW...\n\n"
    "Examples:\n"
    "  stepscope gate base.sss new.pt.trace.json.gz\n"
    "  stepscope gate base.sss new.json.gz --max-slower 2% --max-memory 512MiB\n"
    "  stepscope gate base.sss --vs run1.json.gz run2.json.gz run3.json.gz\n"
    "  stepscope gate base.sss new.json.gz --update-base     also where there is none\n"
    "  stepscope gate old.txt new.txt --unit ms --junit gate.xml --github\n\n"
    "It fails when noise is excluded (98 %) and the step is slower than the limit.\n"
    "docs/gate.md has a workflow file, and what few steps can tell.\n\n"
    "Exit status: 0 passed, 1 failed, 2 wrong usage, 3 nothing usable or not\n"
    "             comparable, 4 cannot tell: too few steps, or data missing.\n";

struct Options {
  std::vector<std::string> files, others;
  std::string max_slower = "3%", max_memory, between_runs, unit, junit;
  bool update_base = false, force = false, json = false, github = false;
  bool allow_few = false, allow_mixed = false, strict = false;
  TraceOptions trace;
  StyleOptions style;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("FILE", options.files, "BASE, then NEW; with --vs all before it is BASE")->required()->type_name("");
  app.add_option("--vs", options.others, "NEW, several files")->type_name("FILE...");
  app.add_option("--max-slower", options.max_slower, "how much slower a step may be: 3% (default), 2ms")
      ->type_name("X")
      ->check(time_limit());
  app.add_option("--max-memory", options.max_memory, "more memory at the peak: 5%, 512MiB; else only shown")
      ->type_name("X")
      ->check(size_limit());
  app.add_option("--between-runs", options.between_runs, "how much runs differ by themselves: 1%")
      ->type_name("X")
      ->check(share());
  app.add_flag("--strict", options.strict, "pass only when noise leaves no room beyond the limit");
  app.add_flag("--allow-few", options.allow_few, "too few steps to tell: say so, and exit 0");
  app.add_flag("--allow-mixed", options.allow_mixed, "compare other GPUs, kinds of times, numbers of ranks");
  app.add_flag("--update-base", options.update_base, "NEW's summary becomes BASE (.sss) if it passes");
  app.add_flag("--force", options.force, "with --update-base: also if it does not pass");
  app.add_option("--unit", options.unit, "of listed times without one: s, ms, us, ns")
      ->type_name("U")
      ->check(one_of({"s", "ms", "us", "ns"}));
  app.add_flag("--json", options.json, "a versioned document (docs/formats/gate.md)");
  app.add_option("--junit", options.junit, "write JUnit XML; - is standard output")->type_name("FILE");
  app.add_flag("--github", options.github, "annotations for GitHub Actions before the text");
  add_trace_options(app, options.trace);
  add_style_options(app, options.style);
  app.footer(kExamples);
}

// Sorts BASE from NEW. The sentence says what is wrong; empty when nothing is.
std::string sort_files(Options& options, GateReport& report) {
  if (!options.others.empty()) {
    report.base_files = options.files;
    report.other_files = options.others;
  } else if (options.files.size() == 2) {
    report.base_files = {options.files[0]};
    report.other_files = {options.files[1]};
  } else if (options.files.size() == 1) {
    return "two files are needed, BASE and NEW";
  } else {
    return fmt::format("{} files: which are BASE and which NEW? BASE... --vs NEW...", options.files.size());
  }
  return "";
}

std::string check_junit(const Options& options, const std::vector<std::string>& base,
                        const std::vector<std::string>& other) {
  if (options.junit.empty() || options.junit == "-") return "";
  if (!is_input(options.junit, base) && !is_input(options.junit, other)) return "";
  return fmt::format("{}: is a file to be read; name another for --junit", options.junit);
}

std::string check_options(const Options& options, const GateReport& report) {
  const auto is_input_twice = [&](const std::string& file) {
    return file == "-" && std::count(report.base_files.begin(), report.base_files.end(), "-") +
                                  std::count(report.other_files.begin(), report.other_files.end(), "-") >
                              1;
  };
  if (std::any_of(report.base_files.begin(), report.base_files.end(), is_input_twice) ||
      std::any_of(report.other_files.begin(), report.other_files.end(), is_input_twice)) {
    return "standard input can be read once only";
  }
  if (options.force && !options.update_base) return "--force goes with --update-base";
  if (options.json && options.junit == "-") return "--json and --junit - would mix on standard output";
  if (options.github && (options.json || options.junit == "-")) {
    return "annotations go to standard output: --github goes with --junit FILE, not with --json or --junit -";
  }
  if (options.update_base && report.base_files.size() != 1) return "--update-base writes one BASE; there are several";
  if (options.update_base && report.base_files.front() == "-") return "--update-base needs a BASE that can be written";
  if (options.update_base && is_input(report.base_files.front(), report.other_files)) {
    return "--update-base: BASE and NEW are the same file";
  }
  return check_junit(options, report.base_files, report.other_files);
}

// A trace must not be overwritten by a summary of another.
std::string check_base_file(const std::string& path) {
  std::error_code ignored;
  const bool is_pattern = path.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(path, ignored);
  if (path.starts_with('@') || is_pattern || path.find("://") != std::string::npos) {
    return fmt::format("--update-base writes one local file, and {} is the name of none; name it base.sss, say", path);
  }
  if (!path.ends_with(".sss") || path.ends_with("/.sss") || path == ".sss") {
    return fmt::format("--update-base writes a summary: name it *.sss, such as base.sss, not {}", path);
  }
  const auto opened = open_bytes(path, false);
  if (!opened) return "";  // said by whoever reads it
  std::string prefix(64, '\0');
  const auto got = read_fully(**opened, prefix.data(), prefix.size());
  if (!got || is_summary(std::string_view(prefix).substr(0, *got))) return "";
  return fmt::format("--update-base writes a summary, and {} is none; name a new file, such as base.sss", path);
}

std::optional<double> ns_per_unit(const std::string& unit) {
  if (unit.empty()) return std::nullopt;
  return unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1;
}

GateOptions gate_options(const Options& options) {
  GateOptions gate;
  gate.slower = *parse_time_limit(options.max_slower);
  if (!options.max_memory.empty()) gate.memory = parse_size_limit(options.max_memory);
  if (!options.between_runs.empty()) gate.between_runs_ratio = parse_share(options.between_runs);
  gate.strict = options.strict;
  gate.allow_mixed = options.allow_mixed;
  return gate;
}

int exit_code_of(const GateReport& report) {
  switch (gate_outcome(report)) {
    case GateOutcome::kFailed:
      return kExitGate;
    case GateOutcome::kCannotTell:
      return report.result.not_comparable ? kExitUnusable : kExitPartial;
    default:
      return kExitComplete;
  }
}

// What explains a slowdown, where both sides are recordings: listed times have no parts.
std::string explain(const GateInput& base, const GateInput& other, const GateResult& result) {
  const bool is_slower = !result.checks.empty() && result.checks.front().quantity == GateQuantity::kStepTime &&
                         result.checks.front().verdict == GateVerdict::kFailed;
  if (!is_slower || !base.has_recordings || !other.has_recordings) return "";
  const auto difference = compute_difference(base.summary, other.summary);
  return difference ? explain_slowdown(*difference) : "";
}

// A base that others may not read stays so: the new file never has more rights than the old one, also not for a moment.
Status replace_base(const std::string& path, const std::string& bytes) {
  struct stat old {};
  const bool was_there = ::stat(path.c_str(), &old) == 0;
  const mode_t rights = old.st_mode & 0777U;
  const mode_t mask = was_there ? ::umask(~rights & 0777U) : 0;
  const Status written = write_text_file(path, [&bytes](const TextSink& sink) { return sink(bytes); });
  if (!was_there) return written;
  ::umask(mask);
  if (written && ::chmod(path.c_str(), rights) != 0) return Error{ErrorCode::kIo, "its rights cannot be kept", path};
  return written;
}

// Writes NEW's summary, or says why not. False: it was to be written and could not be.
bool update_base(const GateInput& other, bool force, GateReport& report, Console& console) {
  const std::string& path = report.base_files.front();
  const bool is_whole = other.side.losses.empty() && !other.side.steps_withheld;
  const bool may = report.has_base ? gate_outcome(report) == GateOutcome::kPassed : is_whole;
  if (!may && !force) {
    report.update = report.has_base ? fmt::format("{} stays as it was; --force replaces it all the same", path)
                                    : fmt::format("{} was not written: new is not whole (--force does it)", path);
    return true;
  }
  const std::string bytes = write_summary(other.summary);
  const Status written = replace_base(path, bytes);
  if (!written) {
    console.complain(written.error());
    report.is_unwritten = true;
    report.update = fmt::format("{} could not be written", path);
    return false;
  }
  report.is_updated = true;
  report.update =
      fmt::format("{} is now new's summary ({})", path, show_bytes(static_cast<std::int64_t>(bytes.size())));
  return true;
}

std::string random_token() {
  std::random_device device;
  return fmt::format("stepscope-{:08x}{:08x}", device(), device());
}

bool print(const Options& options, GateReport& report, Console& console) {
  bool is_written = true;
  if (!options.junit.empty() && options.junit != "-") {
    const std::string xml = write_gate_junit(report);
    const Status written = write_text_file(options.junit, [&xml](const TextSink& sink) { return sink(xml); });
    if (!written) console.complain(written.error());
    is_written = written.has_value();
    report.is_unwritten = report.is_unwritten || !is_written;
  }
  if (options.json || options.junit == "-") {
    if (exit_code_of(report) != kExitComplete) console.remark("stepscope: " + gate_sentence(report));
    return console.write(options.json ? write_gate_json(report) : write_gate_junit(report)) && is_written;
  }
  const std::string text = write_gate_text(report, Console::style(options.style.colour, options.style.width));
  return console.write(options.github ? write_gate_github(report, text, random_token()) : text) && is_written;
}

// Nothing is judged: says why, also where CI looks.
int give_up(const Error& error, const Options& options, const GateReport& report, Console& console) {
  if (!options.junit.empty()) {
    const std::string xml = write_gate_junit_error(report, error.to_string());
    if (options.junit == "-") {
      (void)console.write(xml);
    } else if (const Status written =
                   write_text_file(options.junit, [&xml](const TextSink& sink) { return sink(xml); });
               !written) {
      console.complain(written.error());
    }
  }
  if (options.github) (void)console.write(write_gate_github_error(error.to_string()));
  console.complain(error);
  return error.code == ErrorCode::kInvalidArgument ? kExitUsage : kExitUnusable;
}

struct Sides {
  std::vector<std::string> base, other;
  std::optional<Error> wrong;  // of either
};

Sides expand_sides(const GateReport& report) {
  Sides sides;
  for (const auto& [given, files] :
       {std::pair(&report.base_files, &sides.base), std::pair(&report.other_files, &sides.other)}) {
    auto expanded = expand_gate_files(*given);
    if (expanded) {
      *files = std::move(*expanded);
    } else if (!sides.wrong) {
      sides.wrong = expanded.error();
    }
  }
  return sides;
}

// Both sides. Without a base yet its side stays empty.
Status read_sides(const Sides& sides, const GateInputOptions& options, bool has_base, GateInput& base,
                  GateInput& other) {
  if (has_base) {
    auto read = read_gate_input(sides.base, options);
    if (!read) {
      Error error = read.error();
      if (error.code == ErrorCode::kNotFound) error.message += "; --update-base makes it of NEW";
      return error;
    }
    base = std::move(*read);
  }
  auto read = read_gate_input(sides.other, options);
  if (!read) return read.error();
  other = std::move(*read);
  return Done{};
}

bool is_memory_alone(const GateInput& base, const GateInput& other, const GateOptions& options) {
  return !options.memory && base.has_snapshots && other.has_snapshots && base.summary.ranks.empty() &&
         other.summary.ranks.empty();
}

int complain_of_usage(const std::string& wrong, Console& console) {
  console.complain(wrong + "\nType `stepscope gate --help` for the options and examples.");
  return kExitUsage;
}

}  // namespace

int run_gate(const Arguments& arguments, Console& console) {
  CLI::App app("Fails when NEW is slower than BASE, or needs more memory, than is allowed.", "stepscope gate");
  Options options;
  add_options(app, options);
  if (const auto ended = parse_arguments(app, arguments, console)) return *ended;
  GateReport report;
  std::string wrong = sort_files(options, report);
  if (wrong.empty()) wrong = check_options(options, report);
  if (wrong.empty() && options.update_base) wrong = check_base_file(report.base_files.front());
  if (!wrong.empty()) return complain_of_usage(wrong, console);
  report.options = gate_options(options);
  report.allow_few = options.allow_few;
  const GateInputOptions input_options{ns_per_unit(options.unit), options.trace};
  std::error_code ignored;
  report.has_base = !options.update_base || std::filesystem::exists(report.base_files.front(), ignored);
  const Sides sides = expand_sides(report);
  // Only now is it known which files a pattern, a list or a folder means.
  wrong = check_junit(options, sides.base, sides.other);
  if (!wrong.empty()) return complain_of_usage(wrong, console);
  if (sides.wrong) return give_up(*sides.wrong, options, report, console);
  GateInput base, other;
  if (const Status read = read_sides(sides, input_options, report.has_base, base, other); !read) {
    return give_up(read.error(), options, report, console);
  }
  if (report.has_base && is_memory_alone(base, other, report.options)) {
    return complain_of_usage("memory snapshots have no step times; say how much memory is allowed: --max-memory 5%",
                             console);
  }
  if (options.update_base && other.has_snapshots) {
    return complain_of_usage(
        "a memory snapshot has no summary that could be BASE; take a trace recorded with profile_memory", console);
  }
  report.base = base.side;
  report.other = other.side;
  if (report.has_base) {
    report.result = judge_gate(report.base, report.other, report.options);
    report.result.explanation = explain(base, other, report.result);
  }
  const bool is_updated = !options.update_base || update_base(other, options.force, report, console);
  if (!print(options, report, console) || !is_updated) return kExitUnusable;
  return !report.has_base && !report.is_updated ? kExitPartial : exit_code_of(report);
}

}  // namespace stepscope

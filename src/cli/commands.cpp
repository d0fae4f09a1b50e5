// Rows of name, help, function; and what the program says when no command is named.
#include "cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "cli/hand_over.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

namespace stepscope {
namespace {

constexpr std::array<Command, 15> kCommands = {{
    {"report", "where step time goes, which fault costs most, what its fix brings", run_report},
    {"view", "the same as one HTML page with a timeline, to open or to mail", run_view},
    {"run", "a program recorded while it trains, and the verdict when it ends", run_run},
    {"ctl", "start, stop and ask the recording of a program that runs", run_ctl},
    {"ops", "operators by time, memory and FLOPs, as torch's key_averages()", run_ops},
    {"stacks", "folded Python stacks for flame graphs", run_stacks},
    {"steps", "every step: time, GPU busy, idle and its cause, memory", run_steps},
    {"memory", "a CUDA memory snapshot: the peak, by which line, what avoids the OOM", run_memory},
    {"convert", "a trace or capture as another file: Perfetto, speedscope, CSV, JSON", run_convert},
    {"diff", "two runs compared: slower or not, and what explains it", run_diff},
    {"gate", "fails a CI job when steps became slower or need more memory", run_gate},
    {"summarize", "ranks' traces as small files that merge, for runs of many ranks", run_summarize},
    {"merge", "summaries of a run's ranks as one file", run_merge},
    {"bench", "a whole command timed, or two compared in turns, honest about noise", run_bench},
    {"mfu", "how much of the GPUs' peak a step uses, from numbers or a trace", run_mfu},
}};

std::string program_help() {
  std::string text =
      "Stepscope reads a PyTorch profiler trace, or records a program, and says where\nthe GPU step time goes.\n\n"
      "Usage: stepscope COMMAND FILE... [OPTIONS]\n\nCommands:\n";
  for (const Command& command : kCommands) text += fmt::format("  {:<9} {}\n", command.name, command.help);
  text +=
      "\nOptions:\n  --help      this text; `stepscope COMMAND --help` has its options and examples\n"
      "  --version   the version\n\nExamples:\n"
      "  stepscope report trace.pt.trace.json.gz\n"
      "  stepscope run -- python train.py\n"
      "  stepscope report rank*.json.gz            one row each, worst first\n"
      "  stepscope report trace.json --json | jq .verdict\n"
      "  stepscope ops trace.json --by shape --sort self_device_time_total --limit 20\n"
      "\nExit status: 0 read whole, 1 a gate failed, 2 wrong usage, 3 nothing usable,\n             4 something was "
      "lost, "
      "or no verdict is possible.\n";
  return text;
}

int complain_unknown(const std::string& name, Console& console) {
  std::vector<std::string_view> names;
  names.reserve(kCommands.size());
  for (const Command& command : kCommands) names.push_back(command.name);
  const std::string_view nearest = nearest_word(name, names);
  std::string message = fmt::format("unknown command `{}`", name);
  if (name.find('.') != std::string::npos || name.find('/') != std::string::npos) {
    message += fmt::format("; to read a file: stepscope report {}", name);
  } else if (!nearest.empty()) {
    message += fmt::format("; did you mean `stepscope {}`?", nearest);
  }
  console.complain(message + "\nType `stepscope --help` for the list.");
  return kExitUsage;
}

int dispatch(const Arguments& arguments, Console& console) {
  if (arguments.empty()) {
    console.remark_lines(program_help());
    return kExitUsage;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    return console.write(program_help()) ? kExitComplete : kExitUnusable;
  }
  if (first == "--version" || first == "-V") {
    return console.write(fmt::format("stepscope {}\n", kStepscopeVersion)) ? kExitComplete : kExitUnusable;
  }
  const auto at = std::find_if(kCommands.begin(), kCommands.end(), [&](const Command& c) { return c.name == first; });
  if (at == kCommands.end()) return complain_unknown(first, console);
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (const auto ended = hand_over_to_python(first, rest, console)) return *ended;
  return at->run(rest, console);
}

// Whoever reads the output with a program gets a document however the command ended, unless stdout itself is broken.
void print_failure(const Arguments& arguments, Console& console) {
  if (!wants_json(arguments) || Console::has_written() || !console.last_error()) return;
  const Error& error = *console.last_error();
  (void)console.write(write_json(UnusableFile{error.file, error}));
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

bool wants_json(const Arguments& arguments) {
  // Behind `--` stand names of files, or the words of a command to be measured.
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end;
}

int run_program(const Arguments& arguments, Console& console) {
  int exit_code = kExitUnusable;
  try {
    exit_code = dispatch(arguments, console);
  } catch (const std::exception& error) {
    console.complain(Error{ErrorCode::kIo, std::string("internal error: ") + error.what(), {}});
  }
  print_failure(arguments, console);
  return exit_code;
}

}  // namespace stepscope

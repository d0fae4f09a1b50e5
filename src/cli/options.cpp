// Options are declared once, so that they read the same in every command.
#include "cli/options.h"

#include <algorithm>

#include "report/text.h"

namespace stepscope {
namespace {

// "--jsn": did you mean --json?
std::string hint_for(const CLI::App& app, const Arguments& arguments) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const std::string& argument : arguments) {
    const std::string typed = argument.substr(0, argument.find('='));
    if (!typed.starts_with("--") || std::find(names.begin(), names.end(), typed) != names.end()) continue;
    const std::vector<std::string_view> words(names.begin(), names.end());
    const std::string_view nearest = nearest_word(typed, words);
    if (!nearest.empty()) return "; did you mean " + std::string(nearest) + "?";
  }
  return "";
}

}  // namespace

void add_file_option(CLI::App& app, std::string& file) {
  app.add_option("FILE", file, "trace file (.json, .json.gz, any name), or - for standard input")->required();
}

void add_rank_and_threads(CLI::App& app, TraceOptions& options) {
  app.add_option("--rank", options.rank, "only the recording of this rank");
  app.add_option("--threads", options.threads, "threads for reading; the result does not depend on it")
      ->check(CLI::Range(1U, 1024U));
}

void add_trace_options(CLI::App& app, TraceOptions& options) {
  app.add_option("--steps", options.steps_name, "name of the span that is one step, when it is not ProfilerStep#N");
  app.add_option("--window", options.window, "steps: from the first to the last whole step; all: the whole file")
      ->check(CLI::IsMember({"steps", "all"}));
  app.add_option("--device", options.device, "device to report on; without it, the one that worked most");
  add_rank_and_threads(app, options);
}

void add_style_options(CLI::App& app, StyleOptions& options) {
  app.add_option("--color,--colour", options.colour, "auto, always or never; NO_COLOR is respected")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--width", options.width, "columns of text; without it, the terminal's, and 80 in a pipe")
      ->check(CLI::Range(std::size_t{60}, std::size_t{400}));
}

std::optional<int> parse_arguments(CLI::App& app, const Arguments& arguments, Console& console) {
  app.get_formatter()->column_width(30);
  try {
    Arguments reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
    app.parse(std::move(reversed));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return console.write(app.help()) ? kExitComplete : kExitUnusable;
  } catch (const CLI::ParseError& error) {
    console.complain(std::string(error.what()) + hint_for(app, arguments) + "\nType `" + app.get_name() +
                     " --help` for the options and examples.");
    return kExitUsage;
  }
}

}  // namespace stepscope

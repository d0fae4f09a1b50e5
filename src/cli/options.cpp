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
  app.add_option("FILE", file, "trace (.json, .json.gz); - is standard input")->required()->type_name("");
}

CLI::Validator whole_number(std::size_t least, std::size_t most) { return CLI::Range(least, most).description(""); }

CLI::Validator one_of(const std::vector<std::string>& words) { return CLI::IsMember(words).description(""); }

void add_rank_and_threads(CLI::App& app, TraceOptions& options) {
  app.add_option("--rank", options.rank, "only the recording of this rank")->type_name("N");
  app.add_option("--threads", options.threads, "threads for reading; the result is the same")
      ->type_name("N")
      ->check(whole_number(1, 1024));
}

void add_trace_options(CLI::App& app, TraceOptions& options) {
  app.add_option("--steps", options.steps_name, "the span that is one step, if not ProfilerStep#N")->type_name("NAME");
  app.add_option("--window", options.window, "steps: the whole steps (default); all: the whole file")
      ->type_name("WHICH")
      ->check(one_of({"steps", "all"}));
  app.add_option("--device", options.device, "device to report on; else the one that worked most")->type_name("N");
  add_rank_and_threads(app, options);
}

void add_style_options(CLI::App& app, StyleOptions& options) {
  app.add_option("--color,--colour", options.colour, "auto, always, never; NO_COLOR is respected")
      ->type_name("WHEN")
      ->check(one_of({"auto", "always", "never"}));
  app.add_option("--width", options.width, "columns of text; else the terminal's, 80 in a pipe")
      ->type_name("N")
      ->check(whole_number(60, 400));
}

std::optional<int> parse_arguments(CLI::App& app, const Arguments& arguments, Console& console) {
  app.get_formatter()->column_width(26);
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

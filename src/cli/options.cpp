// Options are declared once, so that they read the same in every command.
#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "report/numbers.h"
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

// Numbers that a file may give to a device or rank. CLI11 by itself turns what does not fit into the largest that does.
CLI::Validator any_number() { return whole_number(0, std::numeric_limits<std::int32_t>::max()); }

}  // namespace

void add_file_option(CLI::App& app, std::string& file) {
  app.add_option("FILE", file, "trace (.json, .json.gz); - is standard input")->required()->type_name("");
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && at == end && value >= least && value <= most) return "";
    return fmt::format("must be a whole number from {} to {}, not {}", show_count(least), show_count(most), text);
  };
  return CLI::Validator(check, "");
}

CLI::Validator one_of(const std::vector<std::string>& words) { return CLI::IsMember(words).description(""); }

void add_rank_and_threads(CLI::App& app, TraceOptions& options) {
  app.add_option("--rank", options.rank, "only the recording of this rank")->type_name("N")->check(any_number());
  app.add_option("--threads", options.threads, "threads for reading; the result is the same")
      ->type_name("N")
      ->check(whole_number(1, 1024));
}

void add_trace_options(CLI::App& app, TraceOptions& options) {
  app.add_option("--steps", options.steps_name, "the span that is one step, if not ProfilerStep#N")->type_name("NAME");
  app.add_option("--window", options.window, "steps: the whole steps (default); all: the whole file")
      ->type_name("WHICH")
      ->check(one_of({"steps", "all"}));
  app.add_option("--device", options.device, "device to report on; else the one that worked most")
      ->type_name("N")
      ->check(any_number());
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

// Parsing a command's arguments with CLI11: help, usage errors and the options that several commands share.
//
// CLI11 throws on bad arguments; that ends here, as an exit status.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"

namespace stepscope {

// What commands that read traces have in common.
struct TraceOptions {
  std::string steps_name;
  std::string window;  // "steps" or "all"; empty: not asked, as "steps"
  std::optional<std::int64_t> device;
  std::optional<std::int64_t> rank;
  unsigned threads = 0;
};

// How text looks.
struct StyleOptions {
  std::string colour = "auto";
  std::optional<std::size_t> width;
};

void add_file_option(CLI::App& app, std::string& file);
void add_trace_options(CLI::App& app, TraceOptions& options);
void add_rank_and_threads(CLI::App& app, TraceOptions& options);
void add_style_options(CLI::App& app, StyleOptions& options);

// Checks that leave the help short: the option's own text says what is allowed.
[[nodiscard]] CLI::Validator whole_number(std::int64_t least, std::int64_t most);
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& words);

// Missing: go on. Else the exit status: help was printed, or the usage was wrong and said so.
[[nodiscard]] std::optional<int> parse_arguments(CLI::App& app, const Arguments& arguments, Console& console);

}  // namespace stepscope

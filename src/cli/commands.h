// The list of commands. A new one is a file, a declaration and a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"

namespace stepscope {

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view help;                                     // one line
  int (*run)(const Arguments& arguments, Console& console);  // arguments after the name; returns the exit status
};

[[nodiscard]] std::span<const Command> commands();

int run_report(const Arguments& arguments, Console& console);
int run_ops(const Arguments& arguments, Console& console);
int run_stacks(const Arguments& arguments, Console& console);
int run_steps(const Arguments& arguments, Console& console);
int run_bench(const Arguments& arguments, Console& console);
int run_convert(const Arguments& arguments, Console& console);
int run_memory(const Arguments& arguments, Console& console);
int run_summarize(const Arguments& arguments, Console& console);
int run_merge(const Arguments& arguments, Console& console);
int run_mfu(const Arguments& arguments, Console& console);
int run_run(const Arguments& arguments, Console& console);
int run_view(const Arguments& arguments, Console& console);
int run_diff(const Arguments& arguments, Console& console);
int run_gate(const Arguments& arguments, Console& console);
int run_ctl(const Arguments& arguments, Console& console);

// The program: finds the command and runs it; --help and --version of the program itself. With --json a command that
// fails before it printed anything ends with a document that says so.
int run_program(const Arguments& arguments, Console& console);

// Was --json asked for, by whatever command?
[[nodiscard]] bool wants_json(const Arguments& arguments);

}  // namespace stepscope

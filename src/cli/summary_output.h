// How `summarize` and `merge` write what they made.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "fleet/rank_summary.h"

namespace stepscope {

void add_output_option(CLI::App& app, std::string& output);
// What is wrong with -o; empty if nothing.
[[nodiscard]] std::string check_summary_output(const std::string& output, const std::vector<std::string>& inputs);
// Says what could not be read, writes the rest and says what was written; returns the exit status.
[[nodiscard]] int write_run(const RunSummary& run, const std::string& output, Console& console);

}  // namespace stepscope

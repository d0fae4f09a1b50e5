// A summary is whole under its name or not there (text_sink.h), and never written over a file that was read (half of
// a run would look like all of it), nor over one that is no summary (a slip with -o would cost a recording).
#include "cli/summary_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/gathering.h"
#include "cli/summarizing.h"
#include "export/text_sink.h"
#include "fleet/summary_file.h"
#include "report/numbers.h"

namespace stepscope {
namespace {

// Of thousands of unusable files the first ones say what is the matter.
constexpr std::size_t kMostNamed = 8;

void complain_of_unreadable(const RunSummary& run, Console& console) {
  for (std::size_t i = 0; i < run.unreadable.size() && i < kMostNamed; ++i) {
    console.complain(error_of(run.unreadable[i]));
  }
  if (run.unreadable.size() > kMostNamed) {
    console.remark(fmt::format("and {} more files that cannot be used", run.unreadable.size() - kMostNamed));
  }
}

Status write_file(const std::string& path, const std::string& bytes) {
  return write_text_file(path, [&](const TextSink& sink) { return sink(bytes); });
}

// A recording cannot be made again: what is there and no summary stays. An empty file (mktemp) and what is no plain
// file (/dev/null, a pipe) lose nothing.
bool may_be_replaced(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed) || std::filesystem::file_size(path, failed) == 0) return true;
  std::ifstream file(path, std::ios::binary);
  std::string first(64, '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return is_summary(first);
}

}  // namespace

void add_output_option(CLI::App& app, std::string& output) {
  app.add_option("-o,--output", output, "summary to write; - is standard output")->type_name("FILE");
}

std::string check_summary_output(const std::string& output, const std::vector<std::string>& inputs) {
  if (output.empty()) return "where to? -o RUN.sss (or -o - for standard output)";
  if (output == "-") return Console::refuse_terminal("-o");
  if (is_input(output, inputs)) return fmt::format("{}: is a file to be read; name another", output);
  if (!may_be_replaced(output)) return fmt::format("{}: is there and is no summary; name another for -o", output);
  return "";
}

int write_run(const RunSummary& run, const std::string& output, Console& console) {
  complain_of_unreadable(run, console);
  if (run.ranks.empty()) {
    if (run.unreadable.empty()) console.complain("there is no rank in the files");
    return kExitUnusable;
  }
  const std::string bytes = write_summary(run);
  if (output == "-") return console.write(bytes) ? exit_code_of(run) : kExitUnusable;
  if (const Status written = write_file(output, bytes); !written) {
    console.complain(written.error());
    return kExitUnusable;
  }
  const auto ranks = static_cast<std::int64_t>(run.ranks.size());
  console.remark(fmt::format("wrote {} ({}, {})", output, show_counted(ranks, "rank"),
                             show_bytes(static_cast<std::int64_t>(bytes.size()))));
  return exit_code_of(run);
}

}  // namespace stepscope

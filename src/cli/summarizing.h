// From files to a run's summary: traces are read and summarised side by side, summaries are taken as they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/facts.h"
#include "cli/options.h"
#include "fleet/rank_summary.h"

namespace stepscope {

struct OpenedFile;

struct SummarizeRequest {
  std::vector<std::string> files;  // expanded (file_lists.h); "-" is standard input
  TraceOptions trace;
  std::optional<double> peak_flops_per_s;
  unsigned jobs = 0;             // files at once; 0: as many as cores
  bool only_summaries = false;   // a trace is then a file of the wrong kind
  OpenedFile* opened = nullptr;  // "-", if it was opened to see what it is
};

// A file that cannot be read stands in run.unreadable.
struct Summarized {
  RunSummary run;     // in its canonical order
  std::string wrong;  // what was asked does not fit; empty if it does
};
[[nodiscard]] Summarized summarize_files(const SummarizeRequest& request);
[[nodiscard]] Error error_of(const UnreadableRank& file);

// report/asked.h, of a command's options.
[[nodiscard]] std::string check_asked_of_summary(const std::string& name, const RunSummary& run,
                                                 const TraceOptions& asked,
                                                 std::optional<double> peak_flops_per_s = std::nullopt);

// kExitUnusable without any rank; kExitPartial when a file could not be read, a rank lost something or has no headline.
[[nodiscard]] int exit_code_of(const RunSummary& run);

// How a trace is to be looked at, as it was typed.
[[nodiscard]] FactOptions fact_options(const TraceOptions& asked, std::optional<double> peak_flops_per_s);

void add_jobs_option(CLI::App& app, unsigned& jobs);

}  // namespace stepscope

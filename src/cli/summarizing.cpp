// Each file gives a part of the run, and the parts are merged as files on different machines would be: one machine and
// a thousand give the same bytes.
#include "cli/summarizing.h"

#include <fmt/format.h>

#include "cli/file_pool.h"
#include "cli/reading.h"
#include "fleet/summarize.h"
#include "fleet/summary_file.h"
#include "import/importers.h"
#include "report/asked.h"
#include "rules/rules.h"

namespace stepscope {
namespace {

// What one file gave.
struct Part {
  RunSummary run;
  std::string wrong;
};

Result<std::string> read_rest(ByteSource& source) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::string bytes;
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPieceBytes);
    const Result<std::size_t> got = read_fully(source, bytes.data() + before, kPieceBytes);
    if (!got) return got.error();
    bytes.resize(before + *got);
    if (*got < kPieceBytes) return bytes;
  }
}

RankSummary summarize(const Trace& trace, const SummarizeRequest& request) {
  const Facts facts = compute_facts(trace, fact_options(request.trace, request.peak_flops_per_s));
  const RuleInput input{trace, facts};
  const std::vector<Finding> findings = find_all(input);
  return summarize_trace(trace, facts, findings, write_verdict(input, findings));
}

Result<RunSummary> read_as_summary(OpenedFile opened, const std::string& name) {
  const Result<std::string> bytes = read_rest(*opened.source);
  return bytes ? read_summary(*bytes, name) : Result<RunSummary>(bytes.error());
}

Status add_traces(OpenedFile opened, const std::string& name, const SummarizeRequest& request, const FileTurn& turn,
                  Part& part) {
  ReadOptions options;
  options.threads = request.trace.threads != 0 ? request.trace.threads : turn.threads;
  options.progress = [&](std::uint64_t read, std::optional<std::uint64_t>) { turn.progress(read); };
  Result<std::vector<Trace>> read = read_traces(std::move(opened.source), name, options);
  if (!read) return read.error();
  for (const Trace& trace : *read) {
    part.wrong = check_asked(trace, request.trace);
    if (!part.wrong.empty()) {
      part.wrong = fmt::format("{}: {}", name, part.wrong);
      break;
    }
    part.run.ranks.push_back(summarize(trace, request));
  }
  return Done{};
}

Status add_file(const std::string& path, const SummarizeRequest& request, const FileTurn& turn, Part& part) {
  const bool is_open = path == "-" && request.opened != nullptr;
  Result<OpenedFile> opened = is_open ? std::move(*request.opened) : open_file(path, turn.threads);
  if (!opened) return opened.error();
  const std::string name = path == "-" ? "standard input" : path;
  if (is_summary(opened->prefix)) {
    Result<RunSummary> run = read_as_summary(std::move(*opened), name);
    if (!run) return run.error();
    part.wrong = check_asked_of_summary(name, *run, request.trace, request.peak_flops_per_s);
    if (part.wrong.empty()) part.run = std::move(*run);
    return Done{};
  }
  if (request.only_summaries && !opened->prefix.empty()) {
    const char* what =
        looks_like_trace(opened->prefix) ? "a trace, no summary; type: stepscope summarize " : "no summary: ";
    return Error{ErrorCode::kUnknownFormat, what + path, name};
  }
  return add_traces(std::move(*opened), name, request, turn, part);
}

void keep_only(std::int64_t wanted, Summarized& all) {
  std::vector<std::int64_t> present;
  for (const RankSummary& rank : all.run.ranks) {
    if (rank.rank) present.push_back(*rank.rank);
  }
  const std::size_t erased = std::erase_if(all.run.ranks, [&](const auto& rank) { return rank.rank != wanted; });
  if (erased == 0 || !all.run.ranks.empty()) return;
  all.wrong = fmt::format("no rank {}; {}", wanted,
                          present.empty() ? "no file names its rank" : "there are: " + list_numbers(present));
}

}  // namespace

std::string check_asked_of_summary(const std::string& name, const RunSummary& run, const TraceOptions& asked,
                                   std::optional<double> peak_flops_per_s) {
  return check_asked_of_summary(
      name, run, AskedOfSummary{asked.steps_name, !asked.window.empty(), asked.device, peak_flops_per_s});
}

Summarized summarize_files(const SummarizeRequest& request) {
  std::vector<Part> parts(request.files.size());
  for_each_file(request.files, request.jobs, [&](const FileTurn& turn) {
    Part& part = parts[turn.index];
    const std::string& path = request.files[turn.index];
    const Status status = add_file(path, request, turn, part);
    if (status) return;
    part.run.unreadable.push_back({path, status.error().message, status.error().code});
  });
  Summarized all;
  std::vector<RunSummary> runs;
  for (Part& part : parts) {
    if (all.wrong.empty()) all.wrong = part.wrong;
    runs.push_back(std::move(part.run));
  }
  all.run = merge_summaries(std::move(runs));
  if (request.trace.rank && all.wrong.empty()) keep_only(*request.trace.rank, all);
  return all;
}

Error error_of(const UnreadableRank& file) { return {file.code, file.reason, file.source}; }

int exit_code_of(const RunSummary& run) {
  if (run.ranks.empty()) return kExitUnusable;
  if (!run.unreadable.empty()) return kExitPartial;
  for (const RankSummary& rank : run.ranks) {
    if (rank.lost_count > 0 || rank.headline_withheld) return kExitPartial;
  }
  return kExitComplete;
}

FactOptions fact_options(const TraceOptions& asked, std::optional<double> peak_flops_per_s) {
  FactOptions options;
  options.steps.span_name = asked.steps_name;
  options.whole_file_window = asked.window == "all";
  options.device_number = asked.device;
  options.peak_flops_per_s = peak_flops_per_s;
  return options;
}

void add_jobs_option(CLI::App& app, unsigned& jobs) {
  app.add_option("--jobs", jobs, "files read at once; else one a core, as memory allows")
      ->type_name("N")
      ->check(whole_number(1, 1024));
}

}  // namespace stepscope

// Reads each file, computes facts, finds, builds reports; and looks at ranks of one run together.
#include "cli/gathering.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/reading.h"
#include "cli/summarizing.h"
#include "fleet/rank_of_name.h"
#include "fleet/summarize.h"
#include "fleet/summary_file.h"
#include "report/asked.h"
#include "rules/rules.h"

namespace stepscope {

bool is_input(const std::string& output, const std::vector<std::string>& files) {
  std::error_code ignored;
  for (const std::string& file : files) {
    if (file != "-" && std::filesystem::equivalent(file, output, ignored)) return true;
  }
  return false;
}
namespace {

void add_recording(const Trace& trace, const GatherRequest& request, Gathered& gathered) {
  const Facts facts = compute_facts(trace, fact_options(request.trace, request.peak_flops_per_s));
  const RuleInput input{trace, facts};
  std::vector<Finding> findings = find_all(input);
  const std::string verdict = write_verdict(input, findings);
  gathered.run.ranks.push_back(summarize_trace(trace, facts, findings, verdict));
  gathered.reports.push_back(build_report(trace, facts, std::move(findings), verdict, request.report));
}

void add_file(const std::string& path, const GatherRequest& request, Gathered& gathered) {
  const bool is_open = request.opened != nullptr && request.opened->path == path;
  auto read =
      is_open ? read_file(std::move(*request.opened), request.trace.threads) : read_file(path, request.trace.threads);
  if (!read) {
    gathered.unusable.push_back({path, read.error()});
    return;
  }
  for (const Trace& trace : *read) {
    if (trace.info.rank) gathered.ranks_seen.push_back(*trace.info.rank);
    if (request.trace.rank && trace.info.rank != request.trace.rank) continue;
    const std::string wrong = check_asked(trace, request.trace);
    if (!wrong.empty()) {
      gathered.wrong = fmt::format("{}: {}", path, wrong);
      return;
    }
    add_recording(trace, request, gathered);
  }
}

// Only what can be looked at again is asked: not standard input, no pipe.
bool is_summary_file(const std::string& path) {
  std::error_code ignored;
  if (path == "-" || !std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string first(64, '\0');
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return is_summary(first);
}

// One rank of many files: those whose names say so are enough, where there are any.
std::vector<std::string> files_of_rank(const std::vector<std::string>& files, std::int64_t rank) {
  std::vector<std::string> named;
  for (const std::string& file : files) {
    if (rank_of_name(file) == rank) named.push_back(file);
  }
  return named.empty() ? files : named;
}

Gathered gather_summaries(const GatherRequest& request) {
  SummarizeRequest wanted;
  wanted.files = request.files;
  wanted.trace = request.trace;
  wanted.peak_flops_per_s = request.peak_flops_per_s;
  wanted.jobs = request.jobs;
  wanted.opened = request.opened != nullptr && request.opened->path == "-" ? request.opened : nullptr;
  Summarized all = summarize_files(wanted);
  Gathered gathered;
  gathered.is_summarized = true;
  gathered.wrong = std::move(all.wrong);
  gathered.run = std::move(all.run);
  // Whoever asks for one rank does not miss the others.
  for (RankSummary& rank : gathered.run.ranks) {
    if (request.trace.rank) rank.world_size.reset();
  }
  return gathered;
}

// Two recordings as A and B, in the order in which they were named; nothing where they cannot be compared.
std::optional<DiffReport> compare_two(const RunSummary& run) {
  if (run.ranks.size() != 2) return std::nullopt;
  RunSummary before, after;
  before.ranks = {run.ranks.front()};
  after.ranks = {run.ranks.back()};
  auto difference = compute_difference(before, after);
  if (!difference) return std::nullopt;
  DiffReport report;
  report.before_files = {before.ranks.front().source};
  report.after_files = {after.ranks.front().source};
  report.difference = std::move(*difference);
  return report;
}

}  // namespace

Gathered gather(GatherRequest request) {
  if (request.trace.rank && request.files.size() > 1) {
    request.files = files_of_rank(request.files, *request.trace.rank);
  }
  // Standard input can be read once only, so it stays open after the look at it.
  std::optional<OpenedFile> input;
  if (request.opened == nullptr && std::find(request.files.begin(), request.files.end(), "-") != request.files.end()) {
    Result<OpenedFile> opened = open_file("-", request.trace.threads);
    if (opened) request.opened = &input.emplace(std::move(*opened));
    if (!opened && request.files.size() == 1) {
      Gathered unusable;
      unusable.unusable.push_back({"-", opened.error()});
      return unusable;
    }
  }
  const bool has_summary = (request.opened != nullptr && is_summary(request.opened->prefix)) ||
                           std::any_of(request.files.begin(), request.files.end(), is_summary_file);
  if (has_summary || (request.files.size() > kMostWholeReports && !request.trace.rank)) {
    return gather_summaries(request);
  }

  request.report.asked = {request.trace.steps_name, request.trace.window == "all", request.trace.device,
                          request.trace.rank};
  Gathered gathered;
  for (const std::string& path : request.files) {
    add_file(path, request, gathered);
    if (!gathered.wrong.empty()) return gathered;
  }
  if (request.trace.rank && gathered.reports.empty() && gathered.unusable.size() < request.files.size()) {
    const std::string present =
        gathered.ranks_seen.empty() ? "no file names its rank" : "there are: " + list_numbers(gathered.ranks_seen);
    gathered.wrong = fmt::format("no rank {}; {}", *request.trace.rank, present);
  }
  return gathered;
}

RankReports join(Gathered gathered) {
  for (const UnusableFile& file : gathered.unusable) {
    gathered.run.unreadable.push_back({file.path, file.error.message, file.error.code});
  }
  if (gathered.is_summarized) {
    for (const UnreadableRank& file : gathered.run.unreadable) {
      gathered.unusable.push_back({file.source, error_of(file)});
    }
  }
  std::optional<FleetAnswer> fleet = judge_fleet(gathered.run);
  // Of summaries there is nothing else to show.
  if (!gathered.is_summarized && !fleet->facts.is_one_run()) fleet.reset();
  const bool is_page = std::any_of(gathered.reports.begin(), gathered.reports.end(),
                                   [](const Report& report) { return !report.page_data.empty(); });
  std::optional<DiffReport> difference = is_page && !fleet ? compare_two(gathered.run) : std::nullopt;
  RankReports ranks = join_reports(std::move(gathered.reports), std::move(gathered.unusable), std::move(fleet));
  ranks.difference = std::move(difference);
  ranks.row_count = gathered.row_count;
  return ranks;
}

int exit_code_of(ReportStatus status) {
  if (status == ReportStatus::kComplete) return kExitComplete;
  return status == ReportStatus::kPartial ? kExitPartial : kExitUnusable;
}

}  // namespace stepscope

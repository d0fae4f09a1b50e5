// Reads each file, computes facts, finds, builds reports; and looks at ranks of one run together.
#include "cli/gathering.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/reading.h"
#include "fleet/summarize.h"
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

FactOptions fact_options(const GatherRequest& request) {
  FactOptions options;
  options.steps.span_name = request.trace.steps_name;
  options.whole_file_window = request.trace.window == "all";
  options.device_number = request.trace.device;
  options.peak_flops_per_s = request.peak_flops_per_s;
  return options;
}

void add_recording(const Trace& trace, const GatherRequest& request, Gathered& gathered) {
  const Facts facts = compute_facts(trace, fact_options(request));
  const RuleInput input{trace, facts};
  std::vector<Finding> findings = find_all(input);
  const std::string verdict = write_verdict(input, findings);
  gathered.run.ranks.push_back(summarize_trace(trace, facts, findings, verdict));
  gathered.reports.push_back(build_report(trace, facts, std::move(findings), verdict, request.report));
}

void add_file(const std::string& path, const GatherRequest& request, Gathered& gathered) {
  auto read = request.opened != nullptr ? read_file(std::move(*request.opened), request.trace.threads)
                                        : read_file(path, request.trace.threads);
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

}  // namespace

Gathered gather(GatherRequest request) {
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
    gathered.run.unreadable.push_back({file.path, file.error.message});
  }
  std::optional<FleetAnswer> fleet = judge_fleet(gathered.run);
  if (!fleet->facts.is_one_run()) fleet.reset();
  RankReports ranks = join_reports(std::move(gathered.reports), std::move(gathered.unusable), std::move(fleet));
  ranks.row_count = gathered.row_count;
  return ranks;
}

int exit_code_of(ReportStatus status) {
  if (status == ReportStatus::kComplete) return kExitComplete;
  return status == ReportStatus::kPartial ? kExitPartial : kExitUnusable;
}

}  // namespace stepscope

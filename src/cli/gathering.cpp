// Reads each file, computes facts, finds, builds reports; and looks at ranks of one run together.
#include "cli/gathering.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "cli/reading.h"
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

// A trace takes half a byte for each byte of JSON and its facts a third: what fits half of the machine is kept.
std::uint64_t most_text_bytes_kept() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return std::uint64_t{4} << 30;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes) / 2;
}

void add_recording(Trace trace, const GatherRequest& request, Gathered& gathered) {
  auto recording = std::make_unique<ReadRecording>();
  recording->trace = std::move(trace);
  recording->facts = compute_facts(recording->trace, fact_options(request));
  const RuleInput input{recording->trace, recording->facts};
  std::vector<Finding> findings = find_all(input);
  const std::string verdict = write_verdict(input, findings);
  gathered.reports.push_back(
      build_report(recording->trace, recording->facts, std::move(findings), verdict, request.report));
  gathered.kept_text_bytes += recording->trace.info.text_bytes;
  gathered.keep = gathered.keep && gathered.kept_text_bytes <= most_text_bytes_kept();
  if (gathered.keep) {
    gathered.kept.push_back(std::move(recording));
  } else {
    gathered.kept.clear();
  }
}

void add_file(const std::string& path, const GatherRequest& request, Gathered& gathered) {
  auto read = request.opened != nullptr ? read_file(std::move(*request.opened), request.trace.threads)
                                        : read_file(path, request.trace.threads);
  if (!read) {
    gathered.unusable.push_back({path, read.error()});
    return;
  }
  for (Trace& trace : *read) {
    if (trace.info.rank) gathered.ranks_seen.push_back(*trace.info.rank);
    if (request.trace.rank && trace.info.rank != request.trace.rank) continue;
    const std::string wrong = check_asked(trace, request.trace);
    if (!wrong.empty()) {
      gathered.wrong = fmt::format("{}: {}", path, wrong);
      return;
    }
    add_recording(std::move(trace), request, gathered);
  }
}

std::optional<JointFindings> find_together(const Gathered& gathered) {
  if (gathered.kept.size() != gathered.reports.size() || !are_ranks_of_one_run(gathered.reports)) return std::nullopt;
  std::vector<RuleInput> inputs;
  inputs.reserve(gathered.kept.size());
  for (const auto& recording : gathered.kept) inputs.push_back({recording->trace, recording->facts});
  JointFindings joint;
  joint.findings = find_over_ranks(inputs);
  joint.verdict = write_ranks_verdict(inputs, joint.findings);
  return joint;
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
  auto joint = find_together(gathered);
  return join_reports(std::move(gathered.reports), std::move(gathered.unusable), std::move(joint));
}

int exit_code_of(ReportStatus status) {
  if (status == ReportStatus::kComplete) return kExitComplete;
  return status == ReportStatus::kPartial ? kExitPartial : kExitUnusable;
}

}  // namespace stepscope

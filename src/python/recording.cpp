// The same straight list as the command `report`: what was asked is looked at, then facts, findings, verdict, report.
#include "python/recording.h"

#include <fmt/format.h>

#include <stdexcept>

#include "fleet/summarize.h"
#include "report/asked.h"
#include "report/text.h"
#include "rules/rules.h"

namespace stepscope::python {
namespace {

FactOptions fact_options(const Request& request) {
  FactOptions options;
  options.steps.span_name = request.steps_name;
  options.whole_file_window = request.whole_file_window;
  options.device_number = request.device;
  options.peak_flops_per_s = request.peak_flops_per_s;
  return options;
}

std::string key_of(const Request& request) {
  return fmt::format("{}\n{}\n{}\n{}", request.steps_name, request.whole_file_window, request.device.value_or(-1),
                     request.peak_flops_per_s.value_or(-1));
}

// Where the request does not fit: ValueError. Thrown without Python's lock, so as C++'s own kind.
void refuse_misfit(const Trace& trace, const Request& request, const std::string& name) {
  const std::string wrong = check_asked(trace, request.steps_name, request.device);
  if (!wrong.empty()) throw std::invalid_argument(name + wrong);
}

}  // namespace

std::shared_ptr<const Facts> Recording::facts(const Request& request) const {
  refuse_misfit(*trace_, request, "");
  const std::lock_guard lock(guard_);
  const std::string key = key_of(request);
  if (facts_ == nullptr || facts_key_ != key) {
    facts_ = std::make_shared<const Facts>(compute_facts(*trace_, fact_options(request)));
    facts_key_ = key;
  }
  return facts_;
}

Report Recording::report(const Request& request) const {
  const std::shared_ptr<const Facts> known = facts(request);
  const RuleInput input{*trace_, *known};
  std::vector<Finding> findings = find_all(input);
  const std::string verdict = write_verdict(input, findings);
  ReportOptions options;
  options.asked = {request.steps_name, request.whole_file_window, request.device, std::nullopt};
  options.top_count = request.top;
  return build_report(*trace_, *known, std::move(findings), verdict, options);
}

RankReports report_together(const std::vector<RecordingPointer>& recordings, const Request& request) {
  std::vector<Report> reports;
  RunSummary run;
  for (const RecordingPointer& recording : recordings) {
    refuse_misfit(recording->trace(), request, clean_text(recording->trace().info.source) + ": ");
    reports.push_back(recording->report(request));
    const std::shared_ptr<const Facts> facts = recording->facts(request);
    const std::vector<Finding> findings = find_all({recording->trace(), *facts});
    run.ranks.push_back(summarize_trace(recording->trace(), *facts, findings, reports.back().verdict));
  }
  std::optional<FleetAnswer> fleet = judge_fleet(run);
  if (!fleet->facts.is_one_run()) fleet.reset();
  return join_reports(std::move(reports), {}, std::move(fleet));
}

}  // namespace stepscope::python

// The report is put together section by section; each takes what it needs and leaves the ids behind.
#include <algorithm>

#include "memory/trace_snapshot.h"
#include "report/html/memory_data.h"
#include "report/html/page_data.h"
#include "report/report.h"
#include "report/synchronizations.h"
#include "report/tables.h"
#include "report/text.h"

namespace stepscope {
namespace {

ReportStatus find_status(const Trace& trace, const Facts& facts) {
  if (trace.notes.lost_anything() || facts.ledger.headline_withheld) return ReportStatus::kPartial;
  return ReportStatus::kComplete;
}

TraceInfo clean_info(const TraceInfo& info) {
  TraceInfo clean = info;
  clean.source = clean_text(info.source);
  clean.producer = clean_text(info.producer);
  clean.backend = clean_text(info.backend);
  clean.trace_name = clean_text(info.trace_name);
  clean.host_name = clean_text(info.host_name);
  return clean;
}

std::vector<Note> clean_notes(const Notes& notes) {
  std::vector<Note> clean = notes.all();
  for (Note& note : clean) note.example = clean_text(note.example);
  return clean;
}

// ProfilerStep#4 and #5 are one place in the user's loop.
std::string fold_step_number(std::string_view name) {
  return name.starts_with("ProfilerStep#") ? "ProfilerStep#N" : clean_text(name);
}

// There are at most 64, so looking through them is no work.
void add_detail(IdleDetail detail, std::vector<IdleDetail>& details) {
  for (IdleDetail& known : details) {
    if (known.label == detail.label && known.name == detail.name) {
      known.length_ns += detail.length_ns;
      return;
    }
  }
  details.push_back(std::move(detail));
}

void add_idle(const Trace& trace, const DeviceIdle& idle, DeviceReport& out) {
  out.idle_blame_ns = idle.blame_ns;
  out.idle_edges_ns = idle.edges_ns;
  out.idle_attributed = idle.attributed;
  out.drained_by_wait_ns = idle.drained_by_wait_ns;
  for (const DetailCost& detail : idle.details) {
    add_detail({detail.label, fold_step_number(trace.text(detail.detail)), detail.length_ns}, out.idle_details);
  }
  std::stable_sort(out.idle_details.begin(), out.idle_details.end(),
                   [](const IdleDetail& a, const IdleDetail& b) { return a.length_ns > b.length_ns; });
}

std::vector<DeviceReport> build_devices(const Trace& trace, const Facts& facts) {
  std::vector<DeviceReport> devices;
  for (std::size_t i = 0; i < facts.busy.size(); ++i) {
    DeviceReport device;
    const DeviceId id = facts.busy[i].device;
    device.number = trace.devices.number[id];
    device.name = clean_text(trace.text(trace.devices.name[id]));
    device.is_main = i == facts.main_device;
    device.busy = facts.busy[i];
    device.busy.busy = {};
    if (i < facts.idle.size()) add_idle(trace, facts.idle[i], device);
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<Finding> clean_findings(std::vector<Finding> findings) {
  for (Finding& finding : findings) finding = clean_finding(std::move(finding));
  return findings;
}

// Of any event that a viewer shows: chrome://tracing and Perfetto count from it.
std::optional<TimeNs> find_first_event(const Trace& trace) {
  std::optional<TimeNs> first;
  for (const auto* column :
       {&trace.ops.start_ns.raw(), &trace.spans.start_ns.raw(), &trace.frames.start_ns.raw(),
        &trace.calls.start_ns.raw(), &trace.gpu_events.start_ns.raw(), &trace.gpu_spans.start_ns.raw(),
        &trace.other_events.start_ns.raw(), &trace.memory_events.time_ns.raw(), &trace.counters.time_ns.raw()}) {
    const auto least = std::min_element(column->begin(), column->end());
    if (least != column->end()) first = std::min(first.value_or(*least), *least);
  }
  return first;
}

void add_excerpts(const Trace& trace, const Facts& facts, const ReportOptions& options, Report& report) {
  if (!options.finding || *options.finding >= report.findings.size()) return;
  report.shown_finding = options.finding;
  report.first_event_ns = find_first_event(trace);
  for (const Evidence& evidence : report.findings[*options.finding].evidence) {
    if (evidence.at) report.excerpts.push_back(build_excerpt(trace, facts, *evidence.at, options.excerpt_cell_count));
  }
}

std::optional<std::int64_t> main_device_memory(const Trace& trace, const Facts& facts) {
  const DeviceBusy* busy = facts.main_busy();
  if (busy == nullptr || !trace.devices.memory_bytes[busy->device].has_value()) return std::nullopt;
  return trace.devices.memory_bytes[busy->device].value();
}

}  // namespace

std::string_view report_status_name(ReportStatus status) {
  switch (status) {
    case ReportStatus::kComplete:
      return "complete";
    case ReportStatus::kPartial:
      return "partial";
    case ReportStatus::kUnusable:
      return "unusable";
  }
  return "";
}

Finding clean_finding(Finding finding) {
  finding.title = clean_text(finding.title);
  finding.gain = clean_text(finding.gain);
  for (Evidence& evidence : finding.evidence) evidence.text = clean_text(evidence.text);
  for (std::string& advice : finding.advice) advice = clean_text(advice);
  return finding;
}

const DeviceReport* Report::main_device() const {
  const auto at = std::find_if(devices.begin(), devices.end(), [](const DeviceReport& d) { return d.is_main; });
  return at == devices.end() ? nullptr : &*at;
}

bool Report::was_launch_blocking() const {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.id == "launch-blocking"; });
}

std::optional<Estimate> Report::unprofiled_step() const {
  return was_launch_blocking() ? std::nullopt : what_ifs.unprofiled_step();
}

std::int64_t Report::step_divisor() const { return is_per_step() ? static_cast<std::int64_t>(steps.steps.size()) : 1; }

namespace {

void add_page_data(const Trace& trace, const Facts& facts, const ReportOptions& options, Report& report) {
  report.page_data = build_page_data(trace, facts, {options.asked.whole_file_window});
  if (trace.memory_events.empty()) return;
  const auto snapshot = snapshot_from_trace(trace);
  if (snapshot) report.memory_page_data = build_memory_page_data(*snapshot, compute_memory_facts(*snapshot));
}

}  // namespace

Report build_report(const Trace& trace, const Facts& facts, std::vector<Finding> findings, const std::string& verdict,
                    const ReportOptions& options) {
  Report report;
  report.status = find_status(trace, facts);
  report.asked = options.asked;
  report.info = clean_info(trace.info);
  report.tool = find_recording_tool(trace);
  report.devices_present = trace.devices.number.raw();
  report.notes = clean_notes(trace.notes);
  report.ledger = facts.ledger;
  report.steps = facts.steps;
  report.steps.source_detail = clean_text(facts.steps.source_detail);
  report.devices = build_devices(trace, facts);
  report.launches = facts.main_launches();
  report.flops = facts.flops;
  report.efficiency = facts.efficiency;
  report.memory = facts.memory;
  report.device_memory_bytes = main_device_memory(trace, facts);
  report.what_ifs = facts.what_ifs;
  report.synchronizations = build_synchronizations(trace, facts, options.asked.whole_file_window);
  report.verdict = clean_text(verdict);
  report.findings = clean_findings(std::move(findings));
  report.table_row_count = options.top_count;
  const bool wants_tables = options.top_count > 0 && (report.has_headline() || options.tables_when_withheld);
  if (wants_tables) report.tables = build_tables(trace, facts, options.asked.whole_file_window, options.top_count);
  add_excerpts(trace, facts, options, report);
  if (options.page) add_page_data(trace, facts, options, report);
  return report;
}

}  // namespace stepscope

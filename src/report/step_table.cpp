// Rows are gathered from the facts by step; three writers show them.
#include "report/step_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "analyze/recording_words.h"
#include "analyze/step_marks.h"
#include "report/csv.h"
#include "report/disturbed_words.h"
#include "report/json_facts.h"
#include "report/missing_words.h"
#include "report/numbers.h"
#include "report/terminal/sections.h"
#include "report/text.h"
#include "rules/rule_list.h"

namespace stepscope {
namespace {

void add_gpu(const Facts& facts, std::size_t step, StepRow& row) {
  const DeviceBusy* busy = facts.main_busy();
  if (busy != nullptr && step < busy->busy_by_step_ns.size()) {
    row.gpu_busy_ns = busy->busy_by_step_ns[step];
    row.idle_ns = row.duration_ns - *row.gpu_busy_ns;
    row.exposed_communication_ns = busy->exposed_communication_by_step_ns[step];
  }
}

void add_cause(const Facts& facts, std::size_t step, StepRow& row) {
  const DeviceIdle* idle = facts.main_idle();
  if (idle == nullptr || step >= idle->blame_by_step_ns.size()) return;
  const IdleByCause& causes = idle->blame_by_step_ns[step];
  const auto most = std::max_element(causes.begin(), causes.end());
  if (*most <= 0) return;
  row.idle_cause = static_cast<HostLabel>(most - causes.begin());
  row.idle_cause_ns = *most;
}

void add_memory(const Facts& facts, const Trace& trace, std::size_t step, StepRow& row) {
  const DeviceBusy* busy = facts.main_busy();
  if (facts.memory.devices.empty()) return;
  const DeviceMemoryLevels* memory = &facts.memory.devices.front();
  for (const DeviceMemoryLevels& device : facts.memory.devices) {
    if (busy != nullptr && device.device_number == trace.devices.number[busy->device]) memory = &device;
  }
  if (step < memory->allocated_peak_by_step_bytes.size()) {
    row.allocated_peak_bytes = memory->allocated_peak_by_step_bytes[step];
  }
  if (step < memory->reserved_peak_by_step_bytes.size()) {
    row.reserved_peak_bytes = memory->reserved_peak_by_step_bytes[step];
  }
}

std::string ms(std::optional<DurationNs> ns) {
  return ns ? fmt::format("{:.3f}", static_cast<double>(*ns) / 1e6) : "-";
}

std::string or_empty(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : ""; }

std::string cause_words(const StepRow& row) {
  if (!row.idle_cause) return "";
  return fmt::format("{} {}", host_label_words(*row.idle_cause), ms(row.idle_cause_ns));
}

// Right edges of the number columns; wide screens have three more before the cause. Long numbers (a loop that counts in
// billions, a step of hours) move what stands behind them.
struct Edges {
  std::size_t step = 7, time = 18, host = 29, busy = 36, idle = 46;
  std::size_t event = 58, communication = 68, memory = 80;
};

Edges edges_of(const std::vector<StepRow>& rows) {
  std::size_t step = 7, time = 11, host = 11, idle = 10;
  for (const StepRow& row : rows) {
    step = std::max(step, std::to_string(row.number).size());
    time = std::max(time, ms(row.duration_ns).size() + 1);
    host = std::max(host, ms(row.host_span_ns).size() + 1);
    idle = std::max(idle, ms(row.idle_ns).size() + 1);
  }
  Edges at;
  at.step = step;
  at.time = at.step + time;
  at.host = at.time + host;
  at.busy = at.host + 7;
  at.idle = at.busy + idle;
  at.event = at.idle + 12;
  at.communication = at.event + 10;
  at.memory = at.communication + 12;
  return at;
}

bool is_wide(const Page& page) { return page.style().width >= 110; }

void add_row(const StepRow& row, const Edges& at, Page& page) {
  Line line = page.line();
  const bool has_busy = row.gpu_busy_ns && row.duration_ns > 0;
  const double busy = has_busy ? static_cast<double>(*row.gpu_busy_ns) / static_cast<double>(row.duration_ns) : 0;
  line.add_right(at.step, std::to_string(row.number)).add_right(at.time, ms(row.duration_ns), Ink::kBold);
  line.add_right(at.host, ms(row.host_span_ns)).add_right(at.busy, has_busy ? show_percent(busy) : "-");
  line.add_right(at.idle, ms(row.idle_ns));
  if (is_wide(page)) {
    line.add_right(at.event, show_count(row.gpu_event_count));
    line.add_right(at.communication, ms(row.exposed_communication_ns));
    line.add_right(at.memory, row.allocated_peak_bytes ? show_bytes(*row.allocated_peak_bytes) : "-");
  }
  const std::size_t cause = line.width() + 2;
  page.add(
      line.pad_to(cause).add(shorten_end(cause_words(row), page.style().width - std::min(page.style().width, cause))));
}

void add_head(const Edges& at, Page& page) {
  Line head = page.line();
  head.add_right(at.step, "step", Ink::kDim).add_right(at.time, "ms", Ink::kDim);
  head.add_right(at.host, "host ms", Ink::kDim).add_right(at.busy, "busy", Ink::kDim);
  head.add_right(at.idle, "idle ms", Ink::kDim);
  if (is_wide(page)) {
    head.add_right(at.event, "GPU events", Ink::kDim).add_right(at.communication, "comm. ms", Ink::kDim);
    head.add_right(at.memory, "memory", Ink::kDim);
  }
  const std::size_t cause = head.width() + 2;
  constexpr std::string_view kWords = "largest cause, ms";
  const bool fits = cause + kWords.size() <= page.style().width;
  page.add(head.pad_to(cause).add(fits ? kWords : "main cause", Ink::kDim));
}

}  // namespace

StepTable build_step_table(const Facts& facts, const Trace& trace) {
  const Steps& steps = facts.steps;
  StepTable table{step_source_name(steps.source),
                  clean_text(steps.source_detail),
                  steps.left_out,
                  steps.disturbed,
                  steps.missing,
                  steps.median_ns,
                  steps.p10_ns,
                  steps.p90_ns,
                  facts.ledger.headline_withheld,
                  fit_recording_words(trace,
                                      "Call prof.step() in the loop, or name the span that is one step: "
                                      "--steps NAME"),
                  find_launch_blocking(RuleInput{trace, facts}) ? kLaunchesBlocked : "",
                  {}};
  // As in the report: rows are what the file says, a median is what we say.
  if (table.headline_withheld) table.median_ns = table.p10_ns = table.p90_ns = std::nullopt;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const Step& step = steps.steps[i];
    StepRow row;
    row.number = step.number;
    row.start_ns = step.gpu.start_ns - steps.window.start_ns;
    row.duration_ns = step.duration_ns();
    row.host_span_ns = step.host.length_ns();
    row.host_lead_ns = step.gpu.end_ns - step.host.end_ns;
    row.gpu_event_count = step.gpu_event_count;
    add_gpu(facts, i, row);
    if (table.idle_cause_withheld.empty()) add_cause(facts, i, row);
    add_memory(facts, trace, i, row);
    table.rows.push_back(row);
  }
  return table;
}

std::string write_steps_text(const StepTable& table, const Style& style) {
  Page page(style);
  if (table.rows.empty()) {
    const bool has_one_end = table.source_detail == kOneStepsEnd;
    page.paragraph(has_one_end ? fmt::format("Steps unknown: {}. {}", kOneStepsEnd, kRecordTwoSteps)
                               : "Steps unknown: nothing in this file marks or repeats a step. " + table.how_to_mark,
                   0);
    return page.text();
  }
  page.paragraph(fmt::format("{}, from {}", show_counted(static_cast<std::int64_t>(table.rows.size()), "step"),
                             table.source_detail),
                 0);
  if (table.headline_withheld) {
    page.paragraph("Do not trust these times: " + clean_text(*table.headline_withheld), 0, Ink::kMagenta);
  }
  if (!table.idle_cause_withheld.empty()) {
    page.paragraph(fmt::format("No causes of idle time: {}", table.idle_cause_withheld), 0, Ink::kMagenta);
  }
  const Edges at = edges_of(table.rows);
  add_head(at, page);
  for (const StepRow& row : table.rows) add_row(row, at, page);
  if (table.median_ns) {
    page.paragraph(fmt::format("median {} ms, p10 {}, p90 {}", ms(table.median_ns), ms(table.p10_ns), ms(table.p90_ns)),
                   0, Ink::kDim);
  }
  if (!table.left_out.empty()) {
    page.paragraph(fmt::format("{} left out, not recorded whole",
                               show_counted(static_cast<std::int64_t>(table.left_out.size()), "step")),
                   0, Ink::kDim);
  }
  if (!table.missing.empty()) page.paragraph(missing_words(table.missing), 0, Ink::kDim);
  for (const std::string& sentence : disturbed_words(table.disturbed)) page.paragraph(sentence, 0, Ink::kDim);
  return page.text();
}

std::string write_steps_csv(const StepTable& table) {
  std::string out = csv_row({"step", "start_ns", "duration_ns", "host_span_ns", "host_lead_ns", "gpu_event_count",
                             "gpu_busy_ns", "idle_ns", "idle_cause", "idle_cause_ns", "exposed_communication_ns",
                             "allocated_peak_bytes", "reserved_peak_bytes"});
  for (const StepRow& row : table.rows) {
    out += csv_row({std::to_string(row.number), std::to_string(row.start_ns), std::to_string(row.duration_ns),
                    std::to_string(row.host_span_ns), std::to_string(row.host_lead_ns),
                    std::to_string(row.gpu_event_count), or_empty(row.gpu_busy_ns), or_empty(row.idle_ns),
                    row.idle_cause ? std::string(host_label_name(*row.idle_cause)) : "",
                    row.idle_cause ? std::to_string(row.idle_cause_ns) : "", or_empty(row.exposed_communication_ns),
                    or_empty(row.allocated_peak_bytes), or_empty(row.reserved_peak_bytes)});
  }
  return out;
}

std::string write_steps_json(const StepTable& table) {
  Json rows = Json::array();
  for (const StepRow& row : table.rows) {
    rows.push_back({{"step", row.number},
                    {"start_ns", row.start_ns},
                    {"duration_ns", row.duration_ns},
                    {"host_span_ns", row.host_span_ns},
                    {"host_lead_ns", row.host_lead_ns},
                    {"gpu_event_count", row.gpu_event_count},
                    {"gpu_busy_ns", json_or_null(row.gpu_busy_ns)},
                    {"idle_ns", json_or_null(row.idle_ns)},
                    {"idle_cause", row.idle_cause ? Json(host_label_name(*row.idle_cause)) : Json(nullptr)},
                    {"idle_cause_ns", row.idle_cause ? Json(row.idle_cause_ns) : Json(nullptr)},
                    {"exposed_communication_ns", json_or_null(row.exposed_communication_ns)},
                    {"allocated_peak_bytes", json_or_null(row.allocated_peak_bytes)},
                    {"reserved_peak_bytes", json_or_null(row.reserved_peak_bytes)}});
  }
  const Json out = {
      {"schema_version", kReportSchemaVersion},
      {"source", table.source},
      {"source_detail", table.source_detail},
      {"headline_withheld", json_or_null(table.headline_withheld)},
      {"idle_cause_withheld", table.idle_cause_withheld.empty() ? Json(nullptr) : Json(table.idle_cause_withheld)},
      {"left_out", table.left_out},
      {"disturbed", disturbed_json(table.disturbed)},
      {"missing", missing_json(table.missing)},
      {"median_ns", json_or_null(table.median_ns)},
      {"p10_ns", json_or_null(table.p10_ns)},
      {"p90_ns", json_or_null(table.p90_ns)},
      {"rows", std::move(rows)}};
  return out.dump(1, ' ', false, nlohmann::detail::error_handler_t::replace) + "\n";
}

}  // namespace stepscope

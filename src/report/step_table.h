// `stepscope steps`: one row a step.
#pragma once

#include <string>
#include <vector>

#include "analyze/facts.h"
#include "report/page.h"

namespace stepscope {

struct StepRow {
  std::int64_t number = 0;
  TimeNs start_ns = 0;  // from the start of the window
  DurationNs duration_ns = 0;
  DurationNs host_span_ns = 0;
  DurationNs host_lead_ns = 0;
  std::int64_t gpu_event_count = 0;
  std::optional<DurationNs> gpu_busy_ns;  // of the main device; missing without GPU events
  std::optional<DurationNs> idle_ns;
  std::optional<DurationNs> exposed_communication_ns;
  std::optional<HostLabel> idle_cause;  // the largest, blame view
  DurationNs idle_cause_ns = 0;
  std::optional<std::int64_t> allocated_peak_bytes;
  std::optional<std::int64_t> reserved_peak_bytes;
};

struct StepTable {
  std::string_view source;
  std::string source_detail;
  std::vector<std::int64_t> left_out;
  std::vector<DisturbedStep> disturbed;
  std::vector<MissingSteps> missing;
  std::optional<DurationNs> median_ns, p10_ns, p90_ns;
  std::optional<std::string> headline_withheld;
  std::string how_to_mark;               // what to do where no step is known, in words of the recorder
  std::string_view idle_cause_withheld;  // why no row names a cause; empty if they may
  std::vector<StepRow> rows;
};

[[nodiscard]] StepTable build_step_table(const Facts& facts, const Trace& trace);

[[nodiscard]] std::string write_steps_text(const StepTable& table, const Style& style);
[[nodiscard]] std::string write_steps_csv(const StepTable& table);
[[nodiscard]] std::string write_steps_json(const StepTable& table);

}  // namespace stepscope

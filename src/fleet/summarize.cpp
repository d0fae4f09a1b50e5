// The summary as a table of contents: who recorded, how complete, the steps, then what happened in them.
//
// Nothing is computed here that the report of one rank does not show too: facts are copied, and only the lists that
// facts do not have (work rows, numbered collectives) are made, each in a file of its own.
#include "fleet/summarize.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "analyze/averages.h"
#include "analyze/disturbed_steps.h"
#include "fleet/fit_summary.h"
#include "fleet/kept_steps.h"
#include "fleet/rank_of_name.h"
#include "fleet/reduced_replay.h"
#include "fleet/summary_collectives.h"
#include "fleet/summary_limits.h"
#include "fleet/work_rows.h"

namespace stepscope {
namespace {

void add_identity(const Trace& trace, const Facts& facts, RankSummary& summary) {
  const TraceInfo& info = trace.info;
  summary.source = info.source;
  summary.rank = info.rank;
  if (!summary.rank) {
    summary.rank = rank_of_name(info.source);
    summary.rank_is_from_name = summary.rank.has_value();
  }
  summary.world_size = info.world_size;
  summary.host_name = info.host_name;
  summary.backend = info.backend;
  summary.torch_version = info.torch_version;
  summary.has_shapes = info.record_shapes || facts.flops.shapes_recorded;
  summary.options = SummaryOptions{info.profile_memory, info.with_stack, info.with_flops, info.with_modules};
  summary.peak_flops_per_s = facts.efficiency.peak_flops_per_s;
  if (facts.main_busy() == nullptr) return;
  const DeviceId device = facts.main_busy()->device;
  summary.device_name = trace.text(trace.devices.name[device]);
  summary.device_number = trace.devices.number[device];
  const MaybeInt memory = trace.devices.memory_bytes[device];
  if (memory.has_value()) summary.device_memory_bytes = memory.value();
}

// The process of the thread that runs the steps, where its key is a number; and what of its calls was recorded.
void add_process(const Trace& trace, const Facts& facts, RankSummary& summary) {
  const ThreadId thread = facts.steps.main_thread;
  if (!thread.has_value()) return;
  const ProcessId process = trace.threads.process[thread];
  const std::string_view key = trace.text(trace.processes.key[process]);
  summary.process_start_ns = trace.info.process_start_ns;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error == std::errc() && end == key.data() + key.size() && number >= 0) summary.process_id = number;
  for (const ThreadId each : trace.threads.ids().ids()) {
    if (trace.threads.process[each] != process) continue;
    for (const CallId call : trace.calls_of_thread[each].ids()) {
      const MaybeInt correlation = trace.calls.correlation[call];
      if (correlation.value_or(0) <= 0) continue;
      const std::int64_t at = correlation.value();
      summary.first_correlation = std::min(summary.first_correlation.value_or(at), at);
      summary.last_correlation = std::max(summary.last_correlation.value_or(at), at);
    }
  }
}

void add_completeness(const Trace& trace, const Facts& facts, RankSummary& summary) {
  summary.text_bytes = trace.info.text_bytes;
  summary.event_count = trace.info.event_count;
  summary.launch_count = facts.ledger.launch_count;
  summary.gpu_event_count = facts.ledger.gpu_event_count;
  summary.linked_gpu_event_count = facts.ledger.linked_gpu_event_count;
  for (const Note& note : trace.notes.all()) {
    if (note.severity >= NoteSeverity::kLost) add_bounded(summary.lost_count, static_cast<std::int64_t>(note.count));
  }
  summary.headline_withheld = facts.ledger.headline_withheld;
  summary.is_host_only = facts.ledger.is_host_only;
  summary.step_source = step_source_name(facts.steps.source);
  summary.step_detail = facts.steps.source_detail;
  summary.steps_left_out = facts.steps.left_out;
  for (const DisturbedStep& each : facts.steps.disturbed) summary.steps_left_out.push_back(each.step.number);
  std::sort(summary.steps_left_out.begin(), summary.steps_left_out.end());
  summary.missing_steps = facts.steps.missing;
}

// Times that cannot be: no step of such a recording means anything, and sums over them would overflow.
bool has_sound_times(const Steps& steps) {
  const Interval window = steps.window;
  return window.start_ns > -kMostTimeNs / 2 && window.end_ns < kMostTimeNs / 2 && window.length_ns() <= kMostLengthNs &&
         std::all_of(steps.steps.begin(), steps.steps.end(), [&](const Step& step) {
           return step.host.start_ns > -kMostTimeNs / 2 && step.host.end_ns < kMostTimeNs / 2 &&
                  step.host.length_ns() <= kMostLengthNs && step.gpu.length_ns() <= kMostLengthNs;
         });
}

// The host's clock, where the file says how its own relates to it.
std::optional<std::int64_t> clock_base(const Trace& trace) {
  const std::int64_t base = trace.info.base_ns;
  if (base <= 0 || base > kMostTimeNs / 2) return std::nullopt;
  return base;
}

// The whole window as one step, for recordings in which no steps were found. A capture in which nothing happened (the
// launcher of the ranks imports PyTorch, too) has none.
void add_whole_window(const Facts& facts, std::int64_t base_ns, RankSummary& summary) {
  if (facts.steps.recorded_ns() <= 0) return;
  const DeviceBusy* busy = facts.main_busy();
  SummaryStep step;
  step.start_ns = facts.steps.window.start_ns + base_ns;
  step.duration_ns = facts.steps.recorded_ns();
  step.host_span_ns = step.duration_ns;
  if (busy != nullptr) {
    step.gpu_busy_ns = busy->gpu_busy_ns;
    step.exposed_communication_ns = busy->exposed_communication_ns;
    step.idle_ns = facts.main_idle()->blame_ns;
  }
  summary.steps.push_back(step);
}

void add_memory(const Facts& facts, RankSummary& summary) {
  for (const DeviceMemoryLevels& device : facts.memory.devices) {
    if (device.device_number != summary.device_number) continue;
    for (std::size_t i = 0; i < summary.steps.size() && i < device.allocated_peak_by_step_bytes.size(); ++i) {
      summary.steps[i].allocated_peak_bytes = device.allocated_peak_by_step_bytes[i];
      summary.steps[i].reserved_peak_bytes = device.reserved_peak_by_step_bytes[i];
    }
  }
}

// Of more steps than fit those that stand for all. Returns the place of each step among the summary's, and for those
// that are not there a place behind them.
std::vector<std::size_t> spread(RankSummary& summary) {
  const std::vector<bool> stays = spread_steps(summary.steps, kMostSummarySteps);
  const auto kept = static_cast<std::size_t>(std::count(stays.begin(), stays.end(), true));
  std::vector<std::size_t> places;
  std::size_t next = 0;
  for (const bool stay : stays) places.push_back(stay ? next++ : kept);
  summary.are_steps_spread = kept < stays.size();
  keep_steps(summary, stays);
  return places;
}

std::vector<std::size_t> add_steps(const Facts& facts, std::int64_t base_ns, RankSummary& summary) {
  const std::vector<Step>& steps = facts.steps.steps;
  const DeviceBusy* busy = facts.main_busy();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    SummaryStep step;
    step.number = steps[i].number;
    step.start_ns = steps[i].gpu.start_ns + base_ns;
    step.duration_ns = steps[i].duration_ns();
    step.host_span_ns = steps[i].host.length_ns();
    if (busy != nullptr) {
      step.gpu_busy_ns = busy->busy_by_step_ns[i];
      step.exposed_communication_ns = busy->exposed_communication_by_step_ns[i];
      step.idle_ns = facts.main_idle()->blame_by_step_ns[i];
    } else {
      step.exposed_communication_ns = length_ns(clip(facts.host_collectives.waits, steps[i].gpu));
    }
    summary.steps.push_back(step);
  }
  if (steps.empty()) add_whole_window(facts, base_ns, summary);
  add_memory(facts, summary);
  return spread(summary);
}

void add_own_stops(const Trace& trace, const Facts& facts, std::int64_t base_ns, RankSummary& summary) {
  for (const Interval& stop : find_own_stops(trace, facts.timeline)) {
    if (stop.start_ns < -kMostTimeNs / 2 || stop.end_ns > kMostTimeNs / 2) continue;
    summary.own_stops.push_back({stop.start_ns + base_ns, stop.length_ns()});
  }
}

// How many steps from the first on are all in the summary: consecutive ones, which can be replayed.
std::size_t count_consecutive(const std::vector<std::size_t>& places, std::size_t kept) {
  std::size_t count = 0;
  while (count < places.size() && places[count] == count && count < kept) ++count;
  return count;
}

std::vector<StepStretch> step_stretches(const Steps& steps, const std::vector<std::size_t>& places) {
  std::vector<StepStretch> stretches;
  const auto add = [&](Interval gpu, std::size_t step) {
    for (const Interval& part : subtract(IntervalSet{gpu}, steps.unrecorded)) stretches.push_back({part, step});
  };
  if (steps.steps.empty()) add(steps.window, 0);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) add(steps.steps[i].gpu, places[i]);
  return stretches;
}

// Of the steps' host time, by name; the costliest, then the rest as one row.
void add_operators(const Trace& trace, const Facts& facts, RankSummary& summary) {
  AveragesOptions options;
  const std::vector<Step>& steps = facts.steps.steps;
  options.window = steps.empty() ? facts.steps.window : Interval{steps.front().host.start_ns, steps.back().host.end_ns};
  options.left_out = facts.steps.left_out_host;
  for (const AverageRow& row : compute_averages(trace, options).rows) {
    if (row.device_type != "DeviceType.CPU" || row.is_user_annotation || row.is_async || row.key.empty()) continue;
    summary.operators.push_back({row.key, row.count, std::max<DurationNs>(0, row.self_cpu_time_total_ns)});
  }
  std::sort(summary.operators.begin(), summary.operators.end(), [](const auto& a, const auto& b) {
    return std::tuple(-a.self_cpu_ns, -a.count, std::string_view(a.name)) <
           std::tuple(-b.self_cpu_ns, -b.count, std::string_view(b.name));
  });
}

void add_findings(std::span<const Finding> findings, RankSummary& summary) {
  for (const Finding& finding : findings) {
    SummaryFinding kept{finding.id,     std::string(severity_name(finding.severity)),
                        finding.saving, finding.saving_ratio,
                        finding.title,  {},
                        finding.advice, finding.saving_as_recorded};
    for (const Evidence& evidence : finding.evidence) kept.evidence.push_back(evidence.text);
    summary.findings.push_back(std::move(kept));
  }
}

}  // namespace

RankSummary summarize_trace(const Trace& trace, const Facts& facts, std::span<const Finding> findings,
                            const std::string& verdict) {
  RankSummary summary;
  add_identity(trace, facts, summary);
  add_process(trace, facts, summary);
  add_completeness(trace, facts, summary);
  add_findings(findings, summary);
  summary.verdict = verdict;
  summary.replay.refused = "the recording has no steps that could be replayed";
  if (has_sound_times(facts.steps)) {
    const std::int64_t base_ns = clock_base(trace).value_or(0);
    summary.has_clock = clock_base(trace).has_value();
    const std::vector<std::size_t> places = add_steps(facts, base_ns, summary);
    add_own_stops(trace, facts, base_ns, summary);
    const std::vector<GpuEventId> collectives = add_collectives(trace, facts, base_ns, places, summary);
    if (summary.has_clock || trace.info.base_ns == 0) {
      summary.replay = reduce_replay(trace, facts, collectives, count_consecutive(places, summary.steps.size()));
    }
    summary.work =
        compute_work_rows(trace, facts, {step_stretches(facts.steps, places), summary.steps.size(), kMostWorkRows});
    add_operators(trace, facts, summary);
    summary.unprofiled_step = facts.what_ifs.unprofiled_step();
    summary.flops_per_step = facts.efficiency.flops_per_step;
    summary.mfu_ratio = facts.efficiency.mfu_ratio;
  } else if (!summary.headline_withheld) {
    summary.headline_withheld = "the times in the file span more than 52 days, which no recording does";
  }
  fit_summary(summary);
  return summary;
}

}  // namespace stepscope

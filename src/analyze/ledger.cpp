// Counting, then one judgement: may a headline be shown?
//
// Withheld, in this order: the file itself is unsound (two writers, two ranks); nothing ran on
// a GPU that the file knows of; half of its GPU events or more last impossibly long or short; over 1% of the launches
// have no GPU event; a step launched work of which no event arrived; the clocks of host and GPU disagree by a quarter
// of a step; the steps take no time. 1% because a share of lost launches is about the share by which busy time is too
// small, and 1% is the accuracy that the re-simulation demands of itself; the recordings lose none. Launches made while
// a graph is captured start nothing and are not counted, nor are copies and sets without an event: of zero bytes they
// leave no record (cuBLAS makes many such sets). Launches in steps that were left out (the file was cut there) are
// counted but not judged. Swallowing and duplicate records are corrected, so they withhold nothing; bad ones are left
// out of the sums, which a few of them change little: half, since then less is known than is missing.
#include "analyze/ledger.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "analyze/cut_file.h"
#include "analyze/step_marks.h"

namespace stepscope {
namespace {

constexpr double kTolerableLossRatio = 0.01;

// Stretches in which the process captures a graph, whatever thread launches.
std::vector<Interval> find_captures(const Trace& trace) {
  constexpr std::string_view kBegin = "StreamBeginCapture";
  constexpr std::string_view kEnd = "StreamEndCapture";
  enum : std::uint8_t { kUnasked, kNeither, kBegins, kEnds };
  std::vector<std::uint8_t> known(trace.strings.size(), kUnasked);
  std::vector<Interval> captures;
  for (const IdRange<CallId>& of_thread : trace.calls_of_thread.raw()) {
    bool open = false;
    for (const CallId call : of_thread.ids()) {
      std::uint8_t& what = known[trace.calls.name[call].value];
      if (what == kUnasked) {
        const std::string_view name = trace.text(trace.calls.name[call]);
        what = name.find(kBegin) != name.npos ? kBegins : name.find(kEnd) != name.npos ? kEnds : kNeither;
      }
      if (what == kBegins && !open)
        captures.push_back({trace.calls.start_ns[call], std::numeric_limits<TimeNs>::max()});
      if (what == kEnds && open) captures.back().end_ns = trace.calls.end_ns[call];
      if (what != kNeither) open = what == kBegins;
    }
  }
  return union_of(std::move(captures));
}

struct LaunchCounts {
  std::int64_t judged = 0;
  std::int64_t judged_lost = 0;
  std::vector<std::int64_t> by_step;
};

LaunchCounts count_launches(const Trace& trace, const Steps& steps, Ledger& ledger) {
  const std::vector<Interval> captures = find_captures(trace);
  const TimeNs judged_until = steps.left_out.empty() || steps.steps.empty() ? std::numeric_limits<TimeNs>::max()
                                                                            : steps.steps.back().host.end_ns;
  LaunchCounts counts;
  counts.by_step.assign(steps.steps.size(), 0);
  for (const IdRange<CallId>& of_thread : trace.calls_of_thread.raw()) {
    std::size_t capture = 0;
    std::size_t step = 0;
    for (const CallId call : of_thread.ids()) {
      if (!expects_gpu_events(trace, call)) continue;
      const TimeNs start = trace.calls.start_ns[call];
      const bool lost = trace.calls.gpu_count[call] == 0;
      while (capture < captures.size() && captures[capture].end_ns <= start) ++capture;
      if (lost && capture < captures.size() && captures[capture].start_ns <= start) continue;
      ++ledger.launch_count;
      ledger.launch_without_gpu_event_count += lost ? 1 : 0;
      while (step < steps.steps.size() && steps.steps[step].host.end_ns <= start) ++step;
      if (step < steps.steps.size() && steps.steps[step].host.start_ns <= start) ++counts.by_step[step];
      if (start >= judged_until) continue;
      ++counts.judged;
      counts.judged_lost += lost ? 1 : 0;
    }
  }
  return counts;
}

void count_gpu_events(const Trace& trace, const Steps& steps, Ledger& ledger) {
  const GpuEvents& events = trace.gpu_events;
  DurationNs longest = 0;
  double sum = 0;
  for (const IdRange<GpuEventId>& of_device : trace.gpu_events_of_device.raw()) {
    std::int64_t unlinked_so_far = 0;
    bool any_linked = false;
    for (const GpuEventId id : of_device.ids()) {
      if (events.fault[id] == TimeFault::kDuplicate) {
        ++ledger.duplicate_gpu_event_count;
        continue;
      }
      ++ledger.gpu_event_count;
      if (events.call[id].has_value()) {
        if (!any_linked) ledger.leading_unlinked_gpu_event_count += std::exchange(unlinked_so_far, 0);
        any_linked = true;
        ++ledger.linked_gpu_event_count;
      } else {
        ++unlinked_so_far;
      }
      ledger.bad_duration_count += events.fault[id] == TimeFault::kBadDuration ? 1 : 0;
      const bool outside = events.start_ns[id] >= steps.window.end_ns ||
                           std::max(events.end_ns[id], events.start_ns[id] + 1) <= steps.window.start_ns;
      ledger.outside_window_gpu_event_count += outside ? 1 : 0;
      const DurationNs duration = events.end_ns[id] - events.start_ns[id];
      longest = std::max(longest, duration);
      sum += static_cast<double>(duration);
    }
    ledger.unlinked_gpu_event_count += unlinked_so_far;
  }
  if (sum > 0) ledger.largest_event_ratio = static_cast<double>(longest) / sum;
}

std::vector<bool> find_launching_processes(const Trace& trace) {
  std::vector<bool> launches(trace.processes.size(), false);
  for (const CallId call : trace.calls.ids().ids()) {
    if (launches_work(trace, call)) launches[trace.threads.process[trace.calls.thread[call]].value] = true;
  }
  return launches;
}

// Processes that launch work and run steps of the same numbers: ranks whose files were put together. Correlation
// numbers of such need not clash, and then nothing else tells that every sum is of both.
std::int64_t count_processes_of_same_steps(const Trace& trace) {
  std::map<std::int64_t, std::set<std::uint32_t>> processes_of;  // by number of the step
  std::vector<std::optional<std::int64_t>> number_of(trace.strings.size());
  std::vector<bool> is_asked(trace.strings.size(), false);
  std::set<std::uint32_t> with_steps;
  for (const SpanId span : trace.spans.ids().ids()) {
    const StringId name = trace.spans.name[span];
    if (!is_asked[name.value]) number_of[name.value] = profiler_step_number(trace.text(name));
    is_asked[name.value] = true;
    if (!number_of[name.value] || !trace.spans.thread[span].has_value()) continue;
    const std::uint32_t process = trace.threads.process[trace.spans.thread[span]].value;
    processes_of[*number_of[name.value]].insert(process);
    with_steps.insert(process);
  }
  if (with_steps.size() < 2) return 0;
  const std::vector<bool> launches = find_launching_processes(trace);
  std::set<std::uint32_t> same;
  for (const auto& [number, processes] : processes_of) {
    std::vector<std::uint32_t> launching;
    std::copy_if(processes.begin(), processes.end(), std::back_inserter(launching),
                 [&](std::uint32_t process) { return launches[process]; });
    if (launching.size() > 1) same.insert(launching.begin(), launching.end());
  }
  return static_cast<std::int64_t>(same.size());
}

std::string incomplete(std::int64_t lost, std::int64_t of, std::string_view what) {
  std::string text = "GPU data incomplete (";
  return text.append(std::to_string(lost)).append(" of ").append(std::to_string(of)).append(what).append(")");
}

std::optional<std::string> unsound_reason(const Trace& trace, const Ledger& ledger) {
  if (trace.notes.count(NoteKind::kInterleavedWriters) > 0) {
    return "the file is corrupt in the middle (two writers suspected): its numbers cannot be trusted";
  }
  if (ledger.merged_process_count > 0) {
    std::string ranks = ledger.merged_process_count == 2 ? "two" : std::to_string(ledger.merged_process_count);
    return ranks.append(" ranks merged in one file: GPU events cannot be assigned");
  }
  for (const Note& note : trace.notes.all()) {
    if (note.severity == NoteSeverity::kUnsound) return note.example;
  }
  return std::nullopt;
}

// PyTorch lists the machine's GPUs in each file, so one without any was made where there are none.
bool is_host_only(const Trace& trace) {
  const bool has_host_events = !trace.ops.empty() || !trace.spans.empty() || !trace.frames.empty();
  // What the file lost may be its GPU part. What a recorder dropped is none, since it would know the device; nor is
  // what a capture would have gone on with, since its launches stand in it beside the operators that made them.
  const std::vector<Note>& notes = trace.notes.all();
  const bool is_whole = std::none_of(notes.begin(), notes.end(), [](const Note& note) {
    return note.severity >= NoteSeverity::kLost && note.kind != NoteKind::kRecordsDropped &&
           note.kind != NoteKind::kEndedEarly;
  });
  return has_host_events && trace.devices.empty() && trace.calls.empty() && trace.gpu_events.empty() && is_whole;
}

// Of GPU events alone.
std::int64_t count_bad_durations(const Trace& trace) {
  const auto& faults = trace.gpu_events.fault.raw();
  return std::count(faults.begin(), faults.end(), TimeFault::kBadDuration);
}

// The file's GPU clock and host clock disagree so far that kernels stand in other steps than their launches. Smaller
// differences (some us are common) leave the accounts nearly right and are only told. A quarter of a step: causes of
// idle time are then those of another part of the step.
std::optional<std::string> clock_reason(const Steps& steps, const Launches& launches) {
  constexpr DurationNs kPartOfStep = 4;
  if (!launches.median_latency_ns || !steps.median_ns || *steps.median_ns <= 0) return std::nullopt;
  if (*launches.median_latency_ns >= -(*steps.median_ns / kPartOfStep)) return std::nullopt;
  return "the clocks of host and GPU disagree (" + std::to_string(launches.negative_latency_count) + " of " +
         std::to_string(launches.latency_count) + " launches come after the kernel they start)";
}

std::optional<std::string> find_reason(const Trace& trace, const Steps& steps, const Ledger& ledger,
                                       const LaunchCounts& launches) {
  if (auto unsound = unsound_reason(trace, ledger)) return unsound;
  if (ledger.is_host_only) return std::nullopt;
  if (ledger.gpu_event_count == 0) {
    const bool is_cut = find_cut(trace.notes.all()) != nullptr;
    if (ledger.launch_count == 0 && is_cut) return "no GPU activity in the part of the file that is left";
    if (ledger.launch_count == 0) return "no GPU activity recorded";
    std::string text = "no GPU activity recorded (";
    return text.append(std::to_string(ledger.launch_count)).append(" launches)");
  }
  if (const std::int64_t bad = count_bad_durations(trace); bad * 2 >= ledger.gpu_event_count) {
    return incomplete(bad, ledger.gpu_event_count, " GPU events have an impossible duration");
  }
  if (static_cast<double>(launches.judged_lost) > kTolerableLossRatio * static_cast<double>(launches.judged)) {
    return incomplete(launches.judged_lost, launches.judged, " launches have no kernel");
  }
  // A step without any launch may be one of the host alone, unless launches were not recorded at all.
  std::int64_t empty = 0;
  for (std::size_t k = 0; k < steps.steps.size(); ++k) {
    const bool expected = ledger.launch_count == 0 || launches.by_step[k] > 0;
    empty += expected && steps.steps[k].gpu_event_count == 0 ? 1 : 0;
  }
  if (empty == 0) return std::nullopt;
  return incomplete(empty, static_cast<std::int64_t>(steps.steps.size()), " steps have no GPU event");
}

}  // namespace

Ledger compute_ledger(const Trace& trace, const GpuTimeline& timeline, const Launches& launches, const Steps& steps) {
  Ledger ledger;
  const LaunchCounts launch_counts = count_launches(trace, steps, ledger);
  count_gpu_events(trace, steps, ledger);
  // Host events have bad durations too; only the importer saw those.
  ledger.bad_duration_count =
      std::max(ledger.bad_duration_count, static_cast<std::int64_t>(trace.notes.count(NoteKind::kBadDuration)));
  ledger.swallowing_duration_count = static_cast<std::int64_t>(timeline.swallowing.size());
  ledger.negative_latency_count = launches.negative_latency_count;
  ledger.is_host_only = is_host_only(trace);
  for (const Step& step : steps.steps) {
    if (!ledger.is_host_only && step.gpu_event_count == 0) ++ledger.steps_without_gpu_events_count;
  }
  if (trace.notes.count(NoteKind::kMergedProcesses) > 0) {
    const std::vector<bool> launching = find_launching_processes(trace);
    ledger.merged_process_count = std::count(launching.begin(), launching.end(), true);
  } else {
    ledger.merged_process_count = count_processes_of_same_steps(trace);
  }
  ledger.headline_withheld = find_reason(trace, steps, ledger, launch_counts);
  if (!ledger.headline_withheld) ledger.headline_withheld = clock_reason(steps, launches);
  if (!ledger.headline_withheld && steps.median_ns && *steps.median_ns <= 0) {
    ledger.headline_withheld = "the steps take no time: the times of this file cannot be right";
  }
  return ledger;
}

}  // namespace stepscope

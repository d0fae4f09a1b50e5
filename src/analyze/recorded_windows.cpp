// See recorded_windows.h.
#include "analyze/recorded_windows.h"

#include <algorithm>

namespace stepscope {
namespace {

// Ends of windows that another one follows, in order.
std::vector<TimeNs> inner_ends(const Trace& trace) {
  std::vector<TimeNs> ends;
  const std::vector<Interval>& windows = trace.info.windows;
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) ends.push_back(windows[i].end_ns);
  std::sort(ends.begin(), ends.end());
  return ends;
}

bool any_within(const std::vector<TimeNs>& ends, TimeNs after_ns, TimeNs before_ns) {
  const auto next = std::upper_bound(ends.begin(), ends.end(), after_ns);
  return next != ends.end() && *next < before_ns;
}

// Gaps, and disturbed steps.
IntervalSet between_steps(const Steps& steps) {
  IntervalSet gaps;
  const std::vector<const Step*> all = steps.recorded_steps();
  for (std::size_t k = 0; k + 1 < all.size(); ++k) {
    const Interval gap{all[k]->gpu.end_ns, all[k + 1]->gpu.start_ns};
    if (all[k]->ends_alone && gap.start_ns < gap.end_ns) gaps.push_back(gap);
  }
  for (const DisturbedStep& each : steps.disturbed) gaps.push_back(each.step.gpu);
  return gaps;
}

// Work that a window launched may end after it.
IntervalSet between_windows(const Trace& trace, const GpuTimeline& timeline) {
  const std::vector<Interval>& windows = trace.info.windows;
  IntervalSet gaps;
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) {
    Interval gap{windows[i].end_ns, windows[i + 1].start_ns};
    for (const IdRange<GpuEventId>& of_device : trace.gpu_events_of_device.raw()) {
      for (const GpuEventId id : of_device.ids()) {
        if (trace.gpu_events.start_ns[id] >= gap.end_ns) break;
        if (timeline.counts(trace, id)) gap.start_ns = std::max(gap.start_ns, timeline.end_ns[id]);
      }
    }
    if (gap.start_ns < gap.end_ns) gaps.push_back(gap);
  }
  return gaps;
}

// A step in which a window was opened on request goes too: the two kinds of gap look the same.
std::vector<std::int64_t> drop_marks_in_gaps(const Trace& trace, std::vector<StepMark>& marks) {
  std::vector<Interval> windows = trace.info.windows;
  std::sort(windows.begin(), windows.end(),
            [](const Interval& a, const Interval& b) { return a.start_ns < b.start_ns; });
  std::vector<std::int64_t> left_out;
  std::size_t at = 0;
  std::erase_if(marks, [&](const StepMark& mark) {
    // Gap `at` lies behind window `at`.
    while (at + 1 < windows.size() && windows[at + 1].start_ns <= mark.host.start_ns) ++at;
    const bool touches = at + 1 < windows.size() && windows[at].end_ns < mark.host.end_ns;
    if (touches) left_out.push_back(mark.number);
    return touches;
  });
  return left_out;
}

}  // namespace

std::vector<std::int64_t> cut_marks_at_windows(const Trace& trace, std::vector<StepMark>& marks) {
  const std::vector<TimeNs> ends = inner_ends(trace);
  std::vector<std::int64_t> left_out;
  if (ends.empty()) return left_out;
  if (trace.notes.count(NoteKind::kRecordsDropped) > 0) left_out = drop_marks_in_gaps(trace, marks);
  std::erase_if(marks, [&](const StepMark& mark) { return any_within(ends, mark.host.start_ns, mark.host.end_ns); });
  for (std::size_t k = 0; k + 1 < marks.size(); ++k) {
    // The span of the last step may be closed in the very instant in which the window is.
    if (any_within(ends, marks[k].host.start_ns, marks[k + 1].host.start_ns + 1)) marks[k].ends_alone = true;
  }
  return left_out;
}

std::vector<MissingSteps> find_missing_steps(const Trace& trace, const Steps& steps) {
  const std::vector<TimeNs> ends = inner_ends(trace);
  std::vector<MissingSteps> missing;
  const std::vector<const Step*> all = steps.recorded_steps();
  for (std::size_t k = 0; k + 1 < all.size(); ++k) {
    if (any_within(ends, all[k]->host.start_ns, all[k + 1]->host.start_ns + 1)) continue;
    // What was left out lies between them or not at all.
    std::int64_t known = all[k]->number;
    auto next = std::upper_bound(steps.left_out.begin(), steps.left_out.end(), known);
    while (known < all[k + 1]->number) {
      std::int64_t until = all[k + 1]->number;
      if (next != steps.left_out.end()) until = std::min(until, *next++);
      if (until - 1 > known) missing.push_back({known + 1, until - 1});
      known = until;
    }
  }
  return missing;
}

IntervalSet find_unrecorded(const Trace& trace, const GpuTimeline& timeline, const Steps& steps, bool whole_file) {
  // Over the whole file everything counts, and the idle time under our overhead bears its name.
  const bool by_steps = !steps.steps.empty() && !whole_file;
  return clip(union_of(by_steps ? between_steps(steps) : between_windows(trace, timeline)), steps.window);
}

}  // namespace stepscope

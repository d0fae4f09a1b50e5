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

// Steps and disturbed steps, in order.
std::vector<const Step*> all_recorded(const Steps& steps) {
  std::vector<const Step*> all;
  all.reserve(steps.steps.size() + steps.disturbed.size());
  for (const Step& step : steps.steps) all.push_back(&step);
  for (const DisturbedStep& each : steps.disturbed) all.push_back(&each.step);
  std::sort(all.begin(), all.end(), [](const Step* a, const Step* b) { return a->host.start_ns < b->host.start_ns; });
  return all;
}

// Gaps, and disturbed steps, by the clock that `of_step` takes: the host's or the GPU's.
IntervalSet between_steps(const Steps& steps, const std::vector<const Step*>& all, Interval Step::*of_step) {
  IntervalSet gaps;
  for (std::size_t k = 0; k + 1 < all.size(); ++k) {
    const Interval gap{(all[k]->*of_step).end_ns, (all[k + 1]->*of_step).start_ns};
    if (all[k]->ends_alone && gap.start_ns < gap.end_ns) gaps.push_back(gap);
  }
  for (const DisturbedStep& each : steps.disturbed) gaps.push_back(each.step.*of_step);
  return union_of(std::move(gaps));
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

// The numbers between the steps of which nothing else says why they are not there.
std::vector<MissingSteps> missing_steps(const Trace& trace, const Steps& steps, const std::vector<const Step*>& all) {
  const std::vector<TimeNs> ends = inner_ends(trace);
  std::vector<MissingSteps> missing;
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

IntervalSet find_between_windows(const Trace& trace, const GpuTimeline& timeline, Interval within) {
  return clip(union_of(between_windows(trace, timeline)), within);
}

void find_gaps(const Trace& trace, Steps& steps) {
  const std::vector<const Step*> all = all_recorded(steps);
  steps.missing = missing_steps(trace, steps, all);
  steps.unrecorded = clip(between_steps(steps, all, &Step::gpu), steps.window);
  steps.left_out_host = between_steps(steps, all, &Step::host);
}

}  // namespace stepscope

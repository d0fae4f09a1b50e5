// One walk over the rows of overhead, one over the GPU's events near them, one over the steps.
#include "analyze/disturbed_steps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "base/overlap.h"
#include "base/own_overhead.h"
#include "stats/quantiles.h"

namespace stepscope {
namespace {

// Of the typical step. Steps of ordinary loops vary by more (p10 to p90 of 59 steps on an H200: +-15 %), so less shows
// in no median, no mean and no outlier; a window's opening (0.1 ms) is less in steps of 2 ms and more.
constexpr DurationNs kNoticedPercent = 5;

struct Pause {
  Interval at;
  StringId name;
};

std::vector<Pause> find_pauses(const Trace& trace) {
  std::vector<Pause> pauses;
  const OtherEvents& events = trace.other_events;
  for (const OtherEventId id : events.ids().ids()) {
    if (is_own_overhead(trace, id)) pauses.push_back({{events.start_ns[id], events.end_ns[id]}, events.name[id]});
  }
  std::stable_sort(pauses.begin(), pauses.end(),
                   [](const Pause& a, const Pause& b) { return a.at.start_ns < b.at.start_ns; });
  return pauses;
}

// The parts of the pauses in which no GPU worked.
IntervalSet idle_under(const std::vector<Pause>& pauses, const Trace& trace, const GpuTimeline& timeline) {
  std::vector<Interval> all;
  all.reserve(pauses.size());
  for (const Pause& pause : pauses) all.push_back(pause.at);
  IntervalSet paused = union_of(std::move(all));
  std::vector<Interval> busy;
  for (const GpuEventId id : trace.gpu_events.ids().ids()) {
    if (!timeline.counts(trace, id)) continue;
    const Interval work{trace.gpu_events.start_ns[id], timeline.end_ns[id]};
    if (work.start_ns < paused.back().end_ns && work.end_ns > paused.front().start_ns) busy.push_back(work);
  }
  return subtract(paused, union_of(std::move(busy)));
}

// The name of what took most of `step`.
StringId find_cause(const std::vector<Pause>& pauses, Interval step) {
  std::map<std::uint32_t, DurationNs> by_name;
  StringId cause;
  DurationNs most = 0;
  for (const Pause& pause : pauses) {
    if (pause.at.start_ns >= step.end_ns) break;
    const DurationNs both = std::min(pause.at.end_ns, step.end_ns) - std::max(pause.at.start_ns, step.start_ns);
    if (both <= 0) continue;
    DurationNs& sum = by_name[pause.name.value];
    sum += both;
    if (sum <= most) continue;
    most = sum;
    cause = pause.name;
  }
  return cause;
}

}  // namespace

bool is_own_overhead(const Trace& trace, OtherEventId event) {
  const OtherEvents& events = trace.other_events;
  return events.end_ns[event] > events.start_ns[event] && trace.text(events.category[event]) == "overhead" &&
         trace.text(events.name[event]).starts_with(kOwnOverheadPrefix);
}

IntervalSet find_own_stops(const Trace& trace, const GpuTimeline& timeline) {
  const std::vector<Pause> pauses = find_pauses(trace);
  return pauses.empty() ? IntervalSet() : idle_under(pauses, trace, timeline);
}

void leave_out_disturbed_steps(const Trace& trace, const GpuTimeline& timeline, Steps& steps) {
  if (steps.steps.empty()) return;
  const std::vector<Pause> pauses = find_pauses(trace);
  if (pauses.empty()) return;
  const IntervalSet idle = idle_under(pauses, trace, timeline);
  std::vector<DurationNs> lengths;
  lengths.reserve(steps.steps.size());
  for (const Step& step : steps.steps) lengths.push_back(step.duration_ns());
  const DurationNs least_ns = std::max<DurationNs>(1, median_ns(lengths).value_or(0) / 100 * kNoticedPercent);
  std::vector<Step> kept;
  std::vector<DisturbedStep> disturbed;
  for (const Step& step : steps.steps) {
    const DurationNs overhead_ns = overlap_ns(idle, step.gpu);
    if (overhead_ns < least_ns) {
      kept.push_back(step);
    } else {
      disturbed.push_back({step, overhead_ns, std::string(trace.text(find_cause(pauses, step.gpu)))});
    }
  }
  if (kept.empty()) return;
  steps.steps = std::move(kept);
  steps.disturbed = std::move(disturbed);
}

}  // namespace stepscope

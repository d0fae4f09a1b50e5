// One walk over the calls puts every launch into the stretch of host time in which it was made; running maxima over
// the stretches are the boundaries. Linear in calls and GPU events, whatever the number of steps.
//
// The host's time is cut at each step's start, and at a step's end where no other follows at once. A boundary is a cut,
// moved to the end of all GPU work launched before it.
//
// Work launched before recording began has no launch call in the file. On each device it is the leading run of
// unlinked events, and it counts as launched before the first step. If the first linked event of a device still
// waited while launches piled up behind it, the GPU was busy with work that is not in the file at all, and the first
// step begins where that event begins.
#include "analyze/step_boundaries.h"

#include <algorithm>
#include <limits>

#include "analyze/cut_file.h"

namespace stepscope {
namespace {

constexpr TimeNs kNever = std::numeric_limits<TimeNs>::min();

// Stretch i of host time is [cuts[i-1], cuts[i]); stretch 0 lies before the first cut.
struct Stretch {
  TimeNs gpu_end_ns = kNever;  // latest end of what was launched here
  std::int64_t gpu_event_count = 0;
  std::int64_t lost_launch_count = 0;  // launches without a GPU event
};

struct Cuts {
  std::vector<TimeNs> at;
  std::vector<std::size_t> of_step;  // index of the cut that begins step k; the next cut ends it
};

Cuts cut_host_time(const std::vector<StepMark>& marks) {
  Cuts cuts;
  for (std::size_t k = 0; k < marks.size(); ++k) {
    cuts.of_step.push_back(cuts.at.size());
    cuts.at.push_back(marks[k].host.start_ns);
    if (marks[k].ends_alone || k + 1 == marks.size()) cuts.at.push_back(marks[k].host.end_ns);
  }
  return cuts;
}

std::vector<Stretch> assign_launches(const Trace& trace, const GpuTimeline& timeline, const Cuts& cuts) {
  std::vector<Stretch> stretches(cuts.at.size() + 1);
  for (const IdRange<CallId>& of_thread : trace.calls_of_thread.raw()) {
    std::size_t at = 0;
    for (const CallId call : of_thread.ids()) {
      if (!launches_work(trace, call)) continue;
      while (at < cuts.at.size() && cuts.at[at] <= trace.calls.start_ns[call]) ++at;
      Stretch& stretch = stretches[at];
      if (trace.calls.gpu_count[call] == 0 && expects_gpu_events(trace, call)) ++stretch.lost_launch_count;
      for (const GpuEventId id : trace.gpu_events_of(call)) {
        ++stretch.gpu_event_count;
        if (timeline.counts(trace, id)) stretch.gpu_end_ns = std::max(stretch.gpu_end_ns, timeline.end_ns[id]);
      }
    }
  }
  return stretches;
}

// When the first step can begin on this device, given what was queued before; kNever if nothing says so.
TimeNs first_boundary(const Trace& trace, const GpuTimeline& timeline, const Launches& launches,
                      IdRange<GpuEventId> of_device, TimeNs host_start) {
  TimeNs boundary = kNever;
  bool any_linked = false;
  for (const GpuEventId id : of_device.ids()) {
    const CallId call = trace.gpu_events.call[id];
    if (!call.has_value()) {
      if (!any_linked && timeline.counts(trace, id)) boundary = std::max(boundary, timeline.end_ns[id]);
      continue;
    }
    any_linked = true;
    const TimeNs called = trace.calls.start_ns[call];
    if (called < host_start) continue;  // launched before the step: assign_launches() has it
    const TimeNs started = trace.gpu_events.start_ns[id];
    const bool waited = (started - called) / 2 > launches.latency_ns(is_graph_launch(trace, call));
    if (!waited) return boundary;
    // The queue grew if more launches were made on the thread before the first one started. One more may be chance (a
    // slow first launch returns late), so it takes two.
    constexpr int kGrowing = 2;
    int made = 0;
    const IdRange<CallId> of_thread = trace.calls_of_thread[trace.calls.thread[call]];
    for (std::uint32_t next = call.value + 1; next < of_thread.end && made < kGrowing; ++next) {
      if (trace.calls.start_ns[CallId(next)] >= started) break;
      if (launches_work(trace, CallId(next))) ++made;
    }
    return made == kGrowing ? std::max(boundary, started) : boundary;
  }
  return any_linked ? boundary : kNever;  // without any link nothing is known about the order of launch
}

// A step of a cut file is incomplete if launches have lost their events, or if it has fewer events than every other
// step (its tail was cut along with the launches).
bool is_cut_off(const std::vector<Stretch>& stretches, const Cuts& cuts, std::size_t step) {
  const Stretch& mine = stretches[cuts.of_step[step] + 1];
  if (mine.lost_launch_count > 0) return true;
  if (step == 0) return false;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t k = 0; k < step; ++k) {
    least = std::min(least, stretches[cuts.of_step[k] + 1].gpu_event_count);
  }
  return mine.gpu_event_count < least;
}

bool may_end_in_a_step(const Trace& trace) {
  return find_cut(trace.notes.all()) != nullptr || trace.notes.count(NoteKind::kEndedEarly) > 0;
}

// Linear in events: a step is only dropped for its count while counts fall from step to step, and k falling counts need
// k * k / 2 events.
std::vector<std::int64_t> drop_cut_steps(const std::vector<Stretch>& stretches, const Cuts& cuts,
                                         std::vector<StepMark>& marks) {
  std::vector<std::int64_t> left_out;
  while (!marks.empty() && is_cut_off(stretches, cuts, marks.size() - 1)) {
    left_out.push_back(marks.back().number);
    marks.pop_back();
  }
  std::reverse(left_out.begin(), left_out.end());
  return left_out;
}

// The recorder had no room for some GPU records, of any step.
void drop_steps_that_lack_events(const std::vector<Stretch>& stretches, const Cuts& cuts, std::vector<StepMark>& marks,
                                 BoundedSteps& bounded) {
  std::vector<StepMark> whole;
  for (std::size_t k = 0; k < marks.size(); ++k) {
    if (stretches[cuts.of_step[k] + 1].lost_launch_count == 0) {
      whole.push_back(marks[k]);
      continue;
    }
    bounded.left_out.push_back(marks[k].number);
    if (!whole.empty()) whole.back().ends_alone = true;
  }
  marks = std::move(whole);
}

// Unlinked events belong to the step they start in.
void count_unlinked(const Trace& trace, std::vector<Step>& steps) {
  for (const IdRange<GpuEventId>& of_device : trace.gpu_events_of_device.raw()) {
    std::size_t at = 0;
    for (const GpuEventId id : of_device.ids()) {
      if (trace.gpu_events.call[id].has_value() || trace.gpu_events.fault[id] == TimeFault::kDuplicate) continue;
      const TimeNs start = trace.gpu_events.start_ns[id];
      while (at < steps.size() && steps[at].gpu.end_ns <= start) ++at;
      if (at == steps.size()) break;
      if (steps[at].gpu.start_ns <= start) ++steps[at].gpu_event_count;
    }
  }
}

}  // namespace

BoundedSteps compute_step_boundaries(const Trace& trace, const GpuTimeline& timeline, const Launches& launches,
                                     std::vector<StepMark> marks) {
  BoundedSteps bounded;
  if (marks.empty()) return bounded;
  Cuts cuts = cut_host_time(marks);
  std::vector<Stretch> stretches = assign_launches(trace, timeline, cuts);
  if (may_end_in_a_step(trace)) {
    bounded.left_out = drop_cut_steps(stretches, cuts, marks);
    if (marks.empty()) return bounded;
    if (!bounded.left_out.empty()) {
      cuts = cut_host_time(marks);
      stretches = assign_launches(trace, timeline, cuts);
    }
  }
  if (trace.notes.count(NoteKind::kRecordsDropped) > 0) {
    drop_steps_that_lack_events(stretches, cuts, marks, bounded);
    if (marks.empty()) return bounded;
    cuts = cut_host_time(marks);
    stretches = assign_launches(trace, timeline, cuts);
  }
  TimeNs gpu_free = kNever;
  for (const IdRange<GpuEventId>& of_device : trace.gpu_events_of_device.raw()) {
    gpu_free = std::max(gpu_free, first_boundary(trace, timeline, launches, of_device, cuts.at.front()));
  }
  std::vector<TimeNs> boundary(cuts.at.size());
  for (std::size_t i = 0; i < cuts.at.size(); ++i) {
    gpu_free = std::max(gpu_free, stretches[i].gpu_end_ns);
    boundary[i] = std::max(cuts.at[i], gpu_free);
  }
  for (std::size_t k = 0; k < marks.size(); ++k) {
    const std::size_t cut = cuts.of_step[k];
    bounded.steps.push_back({marks[k].number,
                             marks[k].host,
                             {boundary[cut], boundary[cut + 1]},
                             stretches[cut + 1].gpu_event_count,
                             marks[k].ends_alone});
  }
  count_unlinked(trace, bounded.steps);
  return bounded;
}

}  // namespace stepscope

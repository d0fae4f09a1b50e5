// The swallow rule in one forward sweep, each event in amortized constant time.
//
// Evidence is containment: a later event of the stream that starts and ends strictly inside. Equal ends are taken as
// partial overlap (programmatic dependent launch reaches them, and clipping would not change any union); an event of
// length 0 is no evidence, since files rounded to whole microseconds are full of them; neither is a sibling of the same
// graph launch, because parallel branches of a graph may be reported on one stream.
//
// For each stream the open events form a queue with rising ends: whoever ends after the newcomer contains it and leaves
// the queue as swallowing, so nothing is looked at twice. Comparing each event with only the next one was rejected:
// it misses a container whose next neighbour overlaps it in part.
#include "analyze/gpu_timeline.h"

#include <algorithm>
#include <limits>

namespace stepscope {
namespace {

struct OpenEvents {
  std::vector<GpuEventId> queue;  // ends rise from `head` to the back
  std::size_t head = 0;
};

bool same_launch(const GpuEvents& events, GpuEventId a, GpuEventId b) {
  return events.correlation[a].has_value() && events.correlation[a] == events.correlation[b];
}

void meet(const GpuEvents& events, GpuEventId next, OpenEvents& open, std::vector<GpuEventId>& swallowing) {
  const TimeNs start = events.start_ns[next];
  const TimeNs end = events.end_ns[next];
  if (end == start) return;
  std::vector<GpuEventId>& queue = open.queue;
  while (open.head < queue.size() && events.end_ns[queue[open.head]] <= start) ++open.head;
  while (queue.size() > open.head && events.end_ns[queue.back()] > end) {
    if (same_launch(events, queue.back(), next)) return;  // the container stands for its siblings
    swallowing.push_back(queue.back());
    queue.pop_back();
  }
  if (open.head == queue.size()) {
    queue.clear();
    open.head = 0;
  }
  queue.push_back(next);
}

// Ends each swallowing event at the next start on its stream.
void clip_swallowing(const Trace& trace, GpuTimeline& timeline) {
  constexpr TimeNs kNothingAfter = std::numeric_limits<TimeNs>::max();
  struct Starts {
    TimeNs latest = kNothingAfter;  // start of the event seen last, walking back
    TimeNs after = kNothingAfter;   // the first start later than that
  };
  const GpuEvents& events = trace.gpu_events;
  std::vector<Starts> of_stream(trace.streams.size());
  std::size_t left = timeline.swallowing.size();
  for (std::size_t i = events.size(); i-- > 0 && left > 0;) {
    const GpuEventId id(i);
    if (!timeline.counts(trace, id)) continue;
    Starts& starts = of_stream[events.stream[id].value];
    if (events.start_ns[id] != starts.latest) starts = {events.start_ns[id], starts.latest};
    if (timeline.swallowing[left - 1] != id) continue;
    timeline.end_ns[id] = std::min(events.end_ns[id], starts.after);
    --left;
  }
}

}  // namespace

GpuTimeline compute_gpu_timeline(const Trace& trace) {
  const GpuEvents& events = trace.gpu_events;
  GpuTimeline timeline;
  timeline.end_ns.raw() = events.end_ns.raw();
  std::vector<OpenEvents> open(trace.streams.size());
  for (const GpuEventId id : events.ids().ids()) {
    if (timeline.counts(trace, id)) {
      meet(events, id, open[events.stream[id].value], timeline.swallowing);
    } else {
      timeline.end_ns[id] = events.start_ns[id];
    }
  }
  std::sort(timeline.swallowing.begin(), timeline.swallowing.end());
  clip_swallowing(trace, timeline);
  return timeline;
}

}  // namespace stepscope

// Labels come from the host path's slices, counts from a cursor into each host table.
#include "analyze/replay/host_work.h"

#include <algorithm>

namespace stepscope {

template <class IdType>
std::uint32_t WorkMeter::Cursor<IdType>::count_within(TimeNs from_ns, TimeNs to_ns) {
  while (at < end && (*starts)[at] < from_ns) ++at;
  const std::uint32_t first = at;
  while (at < end && (*starts)[at] < to_ns) ++at;
  return at - first;
}

WorkMeter::WorkMeter(const ReplayInput& input, ReplayGraph& graph, ThreadId thread, TimeNs from_ns)
    : input_(input), graph_(graph), thread_(thread) {
  const auto open = [&](auto& cursor, const auto& starts, const auto& range) {
    const auto begin = starts.raw().begin();
    cursor.starts = &starts.raw();
    cursor.end = range.end;
    cursor.at = std::lower_bound(begin + range.begin, begin + range.end, from_ns) - begin;
  };
  const Trace& trace = input.trace;
  open(ops_, trace.ops.start_ns, trace.ops_of_thread[thread]);
  open(calls_, trace.calls.start_ns, trace.calls_of_thread[thread]);
  open(frames_, trace.frames.start_ns, trace.frames_of_thread[thread]);
  open(spans_, trace.spans.start_ns, trace.spans_of_thread[thread]);
}

WorkId WorkMeter::measure(TimeNs start_ns, TimeNs end_ns) {
  const WorkId id = measure_wait(start_ns, end_ns);
  HostWork& work = graph_.work[id];
  work.op_count = ops_.count_within(start_ns, end_ns);
  work.call_count = calls_.count_within(start_ns, end_ns);
  work.frame_count = frames_.count_within(start_ns, end_ns);
  work.span_count = spans_.count_within(start_ns, end_ns);
  return id;
}

WorkId WorkMeter::measure_wait(TimeNs start_ns, TimeNs end_ns) {
  HostWork work;
  work.thread = thread_;
  work.at = {start_ns, end_ns};
  work.length_ns = end_ns - start_ns;
  work.label_begin = static_cast<std::uint32_t>(graph_.labels.size());
  slices_.clear();
  input_.path.slices(thread_, start_ns, end_ns, slices_);
  DurationNs left = work.length_ns;
  for (const HostSlice& slice : slices_) {
    const DurationNs length = std::min(left, slice.end_ns - slice.start_ns);
    if (length <= 0) continue;
    left -= length;
    if (graph_.labels.size() > work.label_begin && graph_.labels.back().label == slice.label) {
      graph_.labels.back().length_ns += length;
    } else {
      graph_.labels.push_back({slice.label, length});
    }
  }
  if (left > 0) graph_.labels.push_back({HostLabel::kNoEvent, left});
  work.label_end = static_cast<std::uint32_t>(graph_.labels.size());
  graph_.work.push_back(work);
  return WorkId(graph_.work.size() - 1);
}

void shorten_work(ReplayGraph& graph, WorkId id, DurationNs length_ns) {
  HostWork& work = graph.work[id];
  if (length_ns >= work.length_ns) return;
  DurationNs left = length_ns;
  for (std::uint32_t i = work.label_begin; i < work.label_end; ++i) {
    DurationNs& part = graph.labels[i].length_ns;
    const bool last = i + 1 == work.label_end;
    // In doubles, since the product of two durations may not fit 64 bits; the last part takes what rounding left.
    const double share = static_cast<double>(part) / static_cast<double>(work.length_ns);
    part = last ? left : std::min(left, static_cast<DurationNs>(share * static_cast<double>(length_ns)));
    left -= part;
  }
  work.length_ns = length_ns;
}

}  // namespace stepscope

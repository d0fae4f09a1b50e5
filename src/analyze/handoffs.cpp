// A hand-off is a cluster of a worker's events that lie whole between two neighbouring boundaries of main. Worker
// events during which main moves are concurrent work, not a wait.
//
// Linear: for each table of the worker one pointer walks over main's boundaries (a bisection for each event was the
// prototype's way: 20 cache misses an event). The flow arrows `fwdbwd` were rejected as the source: they join
// operators, not threads' waits, and other profilers do not write them.
#include "analyze/handoffs.h"

#include <algorithm>

namespace stepscope {
namespace {

struct Cluster {
  std::size_t cell;  // how many boundaries of main lie at or before it
  TimeNs start_ns;
  TimeNs end_ns;
};

template <class Table, class Id>
void add_clusters(const Table& table, IdRange<Id> rows, std::span<const TimeNs> boundaries, std::vector<Cluster>& out) {
  std::size_t cell = 0;
  bool open = false;  // is out.back() a cluster of this table?
  for (const Id row : rows.ids()) {
    const TimeNs start_ns = table.start_ns[row], end_ns = table.end_ns[row];
    while (cell < boundaries.size() && boundaries[cell] <= start_ns) ++cell;
    if (cell < boundaries.size() && end_ns > boundaries[cell]) continue;  // main moves meanwhile
    if (open && out.back().cell == cell) {
      out.back().end_ns = std::max(out.back().end_ns, end_ns);
    } else {
      out.push_back({cell, start_ns, end_ns});
      open = true;
    }
  }
}

std::vector<Cluster> clusters_of(const Trace& trace, ThreadId worker, std::span<const TimeNs> boundaries) {
  std::vector<Cluster> all;
  add_clusters(trace.spans, trace.spans_of_thread[worker], boundaries, all);
  add_clusters(trace.frames, trace.frames_of_thread[worker], boundaries, all);
  add_clusters(trace.ops, trace.ops_of_thread[worker], boundaries, all);
  add_clusters(trace.calls, trace.calls_of_thread[worker], boundaries, all);
  std::sort(all.begin(), all.end(), [](const Cluster& a, const Cluster& b) { return a.cell < b.cell; });
  std::vector<Cluster> joined;
  for (const Cluster& cluster : all) {
    if (joined.empty() || joined.back().cell != cluster.cell) {
      joined.push_back(cluster);
    } else {
      joined.back().start_ns = std::min(joined.back().start_ns, cluster.start_ns);
      joined.back().end_ns = std::max(joined.back().end_ns, cluster.end_ns);
    }
  }
  return joined;
}

}  // namespace

std::vector<Handoff> find_handoffs(const Trace& trace, std::span<const ThreadId> workers,
                                   std::span<const TimeNs> boundaries) {
  std::vector<Handoff> handoffs;
  for (const ThreadId worker : workers) {
    for (const Cluster& cluster : clusters_of(trace, worker, boundaries)) {
      const TimeNs fork_ns = cluster.cell > 0 ? boundaries[cluster.cell - 1] : cluster.start_ns;
      const TimeNs join_ns = cluster.cell < boundaries.size() ? boundaries[cluster.cell] : cluster.end_ns;
      handoffs.push_back({cluster.start_ns, cluster.end_ns, fork_ns, join_ns, worker});
    }
  }
  std::stable_sort(handoffs.begin(), handoffs.end(),
                   [](const Handoff& a, const Handoff& b) { return a.start_ns < b.start_ns; });
  return handoffs;
}

std::vector<MainWait> resolve_waits(std::span<const Handoff> handoffs) {
  std::vector<MainWait> waits;
  for (const Handoff& next : handoffs) {
    if (next.end_ns <= next.start_ns) continue;
    if (!waits.empty() && waits.back().end_ns > next.start_ns) {
      if (waits.back().end_ns >= next.end_ns) continue;
      waits.back().end_ns = next.start_ns;
      if (waits.back().end_ns <= waits.back().start_ns) waits.pop_back();
    }
    waits.push_back({next.start_ns, next.end_ns, next.worker});
  }
  return waits;
}

}  // namespace stepscope

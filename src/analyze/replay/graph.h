// The recorded run as one graph, from which any what-if is computed: a time is a longest path.
//
// Nodes are instants: begin and end of launching and blocking calls, hand-offs between threads, step boundaries,
// begin of each GPU unit and its end on each of its streams. An edge says "not before from + weight". With the weights
// as recorded every node gets exactly its recorded time; a what-if changes weights. After number_nodes() the nodes
// stand in topological order and the edges are grouped by target, so one evaluation is one linear scan. An event
// simulation with a queue was rejected: 60 evaluations of 20,000 nodes would cost 60 sorts.
#pragma once

#include <vector>

#include "analyze/host_path.h"
#include "analyze/replay/copy_path.h"
#include "analyze/what_if.h"
#include "base/interval.h"

namespace stepscope {

using NodeId = Id<struct ReplayNodeTag>;
using WorkId = Id<struct HostWorkTag>;
using UnitId = Id<struct GpuUnitTag>;
using UnitEndId = Id<struct UnitEndTag>;

enum class EdgeKind : std::uint8_t {
  kWork,        // host work between two points of a thread, inside a call, or from thread to thread
  kOrder,       // host order of constant weight
  kLaunch,      // start of the launching call -> start of the unit
  kStream,      // previous end on the stream -> start of the unit
  kDependency,  // end on another stream -> start of the unit
  kBypass,      // last end before a copy or a collective -> start of the unit; idle unless a what-if detaches those
  kDuration,    // start of the unit -> its end on one stream
  kCondition,   // what a blocking call waited for -> its return
  kAllDone,     // an end -> "everything launched so far has ended"
};

struct ReplayEdge {
  NodeId from;
  NodeId to;
  EdgeKind kind = EdgeKind::kOrder;
  std::uint32_t item = 0;      // kWork: WorkId; kDuration: UnitEndId; kCondition: index into waits; starts: UnitId
  DurationNs weight_ns = 0;    // as recorded, kWork included
  DurationNs residual_ns = 0;  // delay of a GPU start that no edge explains; on the edge that binds
  DurationNs typical_ns = 0;   // starts: the median latency or gap, for the self-check; else == weight_ns
};

struct LabelledWork {
  HostLabel label = HostLabel::kNoEvent;
  DurationNs length_ns = 0;
};

// What a thread did on one kWork edge, so that a what-if can take parts of it away.
struct HostWork {
  ThreadId thread;
  Interval at;                    // as recorded
  DurationNs length_ns = 0;       // sum of its labels; less than `at` where a blocked call only waited
  std::uint32_t label_begin = 0;  // into ReplayGraph::labels
  std::uint32_t label_end = 0;
  // Events that start in it: what the profiler itself cost there.
  std::uint32_t op_count = 0, call_count = 0, frame_count = 0, span_count = 0;
  std::uint32_t step_mark_count = 0;  // it borders on the profiler's step(), once or twice
};

// What one launch put on the GPU: a kernel, copy or set, or a whole graph, which is rigid over its streams.
struct GpuUnit {
  static constexpr std::int32_t kNoStretch = -1;  // unlinked: no boundary waits for it

  CallId call;  // empty if unlinked
  NodeId start;
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;              // latest end
  TimeNs launch_ns = 0;           // start of the call; start_ns if unlinked
  std::uint32_t event_begin = 0;  // into ReplayGraph::unit_events, in order of start
  std::uint32_t event_end = 0;
  std::uint32_t end_begin = 0;  // UnitEndId range, one for each stream
  std::uint32_t end_end = 0;
  std::int32_t stretch = kNoStretch;  // of host time in which it was launched: how many cuts lie at or before it
  KernelClass kernel_class = KernelClass::kOther;  // of its events, where they agree
  CopyPath copy = CopyPath::kNone;                 // likewise
  bool is_before = false;                          // launched before the first replayed step: fixed in time
};

struct UnitEnd {
  UnitId unit;
  StreamId stream;
  NodeId node;
  TimeNs end_ns = 0;
  DurationNs gap_cost_ns = 0;  // graphs: what the profiler added between the kernels up to this end
};

// Where the host's time is cut into steps. A boundary on the GPU's clock belongs to each.
struct ReplayCut {
  NodeId node;
  TimeNs at_ns = 0;
};

// Indices into the cuts: where a step begins and ends. Steps that follow each other share one.
struct StepCuts {
  std::uint32_t start = 0;
  std::uint32_t end = 0;
};

struct ReplayGraph {
  Column<NodeId, TimeNs> time_ns;
  std::vector<ReplayEdge> edges;
  std::vector<std::uint32_t> first_edge;  // by node, one more than nodes; after number_nodes()

  Column<WorkId, HostWork> work;
  std::vector<LabelledWork> labels;
  Column<UnitId, GpuUnit> units;
  Column<UnitEndId, UnitEnd> ends;
  std::vector<GpuEventId> unit_events;

  std::vector<ReplayCut> cuts;  // ascending
  std::vector<StepCuts> steps;
  Column<NodeId, UnitId> unit_of_node;  // empty for host nodes; after number_nodes()
  NodeId first_gpu;              // the unit start that is the first boundary, where the GPU was still at earlier work
  TimeNs origin_ns = 0;          // start of the window: evaluated times count from it, so that sums stay small
  DurationNs stream_gap_ns = 0;  // median gap between queued units of a stream

  NodeId add_node(TimeNs at_ns) {
    time_ns.push_back(at_ns);
    return NodeId(time_ns.size() - 1);
  }
  [[nodiscard]] std::span<const GpuEventId> events_of(const GpuUnit& unit) const {
    return std::span(unit_events).subspan(unit.event_begin, unit.event_end - unit.event_begin);
  }
  [[nodiscard]] IdRange<UnitEndId> ends_of(const GpuUnit& unit) const { return {unit.end_begin, unit.end_end}; }
};

// Everything that the replay reads.
struct ReplayInput {
  const Trace& trace;
  const GpuTimeline& timeline;
  const Launches& launches;
  const Steps& steps;
  const KernelClasses& classes;
  const HostPath& path;
  const std::vector<Wait>& waits;
  const WhatIfOptions& options;
};

// Numbers nodes in topological order and groups edges by target; false if edges contradict each other.
[[nodiscard]] bool number_nodes(ReplayGraph& graph);

}  // namespace stepscope

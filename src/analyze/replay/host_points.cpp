// Points of each working thread in order of time, chained by kWork edges; hand-offs as edges between the chains.
//
// A worker outside any hand-off runs beside main. When it comes out of a stretch without any event it was waiting for
// somebody, and main is the only one we know: it is tied to what main had reached, so that a faster main pulls it
// along.
#include "analyze/replay/host_points.h"

#include <algorithm>
#include <numeric>

#include "analyze/replay/host_work.h"

namespace stepscope {
namespace {

// Order at equal times: what ends before what begins; a step begins before the calls in it.
enum class PointKind : std::uint8_t { kBegin, kJoin, kCut, kCall, kFork, kEnd };

struct Point {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  PointKind kind = PointKind::kCall;
  std::uint32_t item = 0;  // CallId, cut, stand (fork, join), hand-off (begin, end)
};

// A stretch in which main stands still; several workers may run in it.
struct Stand {
  TimeNs fork_ns = 0, join_ns = 0;
  NodeId fork, join;
  auto operator<=>(const Stand& other) const {
    return std::pair(fork_ns, join_ns) <=> std::pair(other.fork_ns, other.join_ns);
  }
  bool operator==(const Stand& other) const { return fork_ns == other.fork_ns && join_ns == other.join_ns; }
};

struct Handover {
  Handoff at;
  std::uint32_t stand = 0;
  NodeId begin, end;
};

// A queue get and a thread wake-up cost tens of us; silence beyond that is a wait.
constexpr DurationNs kSilenceNs = 100'000;

bool is_point(ApiKind kind, std::uint32_t gpu_count) {
  switch (kind) {
    case ApiKind::kEventRecord:
    case ApiKind::kStreamWait:
    case ApiKind::kModuleLoad:
    case ApiKind::kOther:
      return gpu_count > 0;
    default:
      return true;
  }
}

class HostChains {
 public:
  HostChains(const ReplayInput& input, const ReplayWindow& window, ReplayGraph& graph, CallIndex& calls)
      : input_(input), window_(window), graph_(graph), calls_(calls) {}

  void build() {
    std::vector<Point> main_points = call_points(window_.main_thread);
    find_handovers(main_points);
    order_by_worker();
    add_main_marks(main_points);
    chain(window_.main_thread, main_points);
    for (const ThreadId thread : input_.path.working_threads()) {
      if (thread == window_.main_thread) continue;
      std::vector<Point> points = call_points(thread);
      add_worker_marks(thread, points);
      chain(thread, points);
    }
    add_handover_edges();
  }

 private:
  // Outermost calls of the window that are points; nested ones share the outer's nodes, set in chain().
  std::vector<Point> call_points(ThreadId thread) {
    const IdRange<CallId> range = calls_of_window(input_.trace, thread, window_.host);
    calls_.add_thread(thread, range);
    const Calls& calls = input_.trace.calls;
    std::vector<Point> points;
    for (const CallId call : range.ids()) {
      if (!is_point(calls.kind[call], calls.gpu_count[call]) || !is_near(window_, calls.end_ns[call])) continue;
      points.push_back({calls.start_ns[call], calls.end_ns[call], PointKind::kCall, call.value});
    }
    return points;
  }

  static bool inside_call(const std::vector<Point>& calls, TimeNs at_ns) {
    const auto after =
        std::upper_bound(calls.begin(), calls.end(), at_ns, [](TimeNs t, const Point& p) { return t < p.start_ns; });
    return after != calls.begin() && std::prev(after)->end_ns > at_ns;
  }

  void find_handovers(const std::vector<Point>& main_calls) {
    for (const Handoff& handoff : input_.path.handoffs()) {
      if (handoff.start_ns >= window_.host.end_ns) break;  // sorted by start
      const bool sound = handoff.fork_ns <= handoff.start_ns && handoff.start_ns <= handoff.end_ns &&
                         handoff.end_ns <= handoff.join_ns;
      const bool within = handoff.fork_ns >= window_.host.start_ns && handoff.join_ns <= window_.host.end_ns;
      // Main inside a call of its own does not wait for the worker.
      if (!sound || !within || inside_call(main_calls, handoff.fork_ns)) continue;
      handovers_.push_back({handoff, 0, {}, {}});
      stands_.push_back({handoff.fork_ns, handoff.join_ns, {}, {}});
    }
    std::sort(stands_.begin(), stands_.end());
    stands_.erase(std::unique(stands_.begin(), stands_.end()), stands_.end());
    for (Handover& handover : handovers_) {
      const Stand key{handover.at.fork_ns, handover.at.join_ns, {}, {}};
      handover.stand =
          static_cast<std::uint32_t>(std::lower_bound(stands_.begin(), stands_.end(), key) - stands_.begin());
    }
  }

  // A file may have as many threads as handovers: a look at each for each would not end.
  void order_by_worker() {
    by_worker_.resize(handovers_.size());
    std::iota(by_worker_.begin(), by_worker_.end(), 0U);
    std::stable_sort(by_worker_.begin(), by_worker_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return handovers_[a].at.worker < handovers_[b].at.worker;
    });
  }

  void add_main_marks(std::vector<Point>& points) const {
    for (std::uint32_t c = 0; c < window_.cut_ns.size(); ++c) {
      points.push_back({window_.cut_ns[c], window_.cut_ns[c], PointKind::kCut, c});
    }
    for (std::uint32_t s = 0; s < stands_.size(); ++s) {
      points.push_back({stands_[s].fork_ns, stands_[s].fork_ns, PointKind::kFork, s});
      points.push_back({stands_[s].join_ns, stands_[s].join_ns, PointKind::kJoin, s});
    }
  }

  void add_worker_marks(ThreadId thread, std::vector<Point>& points) const {
    const auto worker_of = [this](std::uint32_t h) { return handovers_[h].at.worker; };
    const auto first = std::partition_point(by_worker_.begin(), by_worker_.end(),
                                            [&](std::uint32_t h) { return worker_of(h) < thread; });
    for (auto at_worker = first; at_worker != by_worker_.end() && worker_of(*at_worker) == thread; ++at_worker) {
      const std::uint32_t h = *at_worker;
      const Handoff& at = handovers_[h].at;
      points.push_back({at.start_ns, at.start_ns, PointKind::kBegin, h});
      points.push_back({at.end_ns, at.end_ns, PointKind::kEnd, h});
    }
  }

  void chain(ThreadId thread, std::vector<Point>& points) {
    std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
      return std::pair(a.start_ns, a.kind) < std::pair(b.start_ns, b.kind);
    });
    WorkMeter meter(input_, graph_, thread, window_.host.start_ns);
    previous_ = {};
    previous_is_cut_ = false;
    in_handover_ = false;
    bool has_outer = false;
    CallNodes latest;
    TimeNs outer_end_ns = window_.host.start_ns;
    for (const Point& point : points) {
      if (point.kind == PointKind::kCall && has_outer && point.start_ns < outer_end_ns) {
        calls_.set(CallId(point.item), {latest.start, latest.returned, {}, 0});
        continue;
      }
      const NodeId node = graph_.add_node(point.start_ns);
      connect(thread, point, node, meter);
      NodeId last = node;
      TimeNs last_ns = point.start_ns;
      if (point.kind == PointKind::kCall) {
        latest = add_call(point, node, meter);
        has_outer = true;
        outer_end_ns = point.end_ns;
        last = latest.returned;
        last_ns = point.end_ns;
      } else {
        remember(point, node);
      }
      previous_ = last;
      previous_is_cut_ = point.kind == PointKind::kCut;
      if (thread == window_.main_thread) main_.push_back({last_ns, last});
    }
  }

  CallNodes add_call(const Point& point, NodeId start, WorkMeter& meter) {
    CallNodes nodes{start, graph_.add_node(point.end_ns), meter.measure(point.start_ns, point.end_ns),
                    graph_.edges.size()};
    add_work_edge(nodes.start, nodes.returned, nodes.own);
    calls_.set(CallId(point.item), nodes);
    return nodes;
  }

  void remember(const Point& point, NodeId node) {
    switch (point.kind) {
      case PointKind::kCut:
        graph_.cuts.push_back({node, point.start_ns});
        break;
      case PointKind::kFork:
        stands_[point.item].fork = node;
        break;
      case PointKind::kJoin:
        stands_[point.item].join = node;
        break;
      case PointKind::kBegin:
        handovers_[point.item].begin = node;
        in_handover_ = true;
        break;
      case PointKind::kEnd:
        handovers_[point.item].end = node;
        in_handover_ = false;
        break;
      case PointKind::kCall:
        break;
    }
  }

  // The edge from the thread's previous point.
  void connect(ThreadId thread, const Point& point, NodeId node, WorkMeter& meter) {
    const bool is_main = thread == window_.main_thread;
    if (!previous_.has_value()) {
      if (!is_main && point.kind != PointKind::kBegin) tie_to_main(point.start_ns, node, meter);
      return;
    }
    const TimeNs from_ns = graph_.time_ns[previous_];
    if (point.kind == PointKind::kBegin || point.kind == PointKind::kJoin) {
      if (from_ns <= point.start_ns) graph_.edges.push_back({previous_, node, EdgeKind::kOrder});
    } else if (from_ns >= point.start_ns) {
      add_order_edge(previous_, node);
    } else if (!is_main && !in_handover_ && longest_silence_ns(thread, from_ns, point.start_ns) >= kSilenceNs) {
      graph_.edges.push_back({previous_, node, EdgeKind::kOrder});
      tie_to_main(point.start_ns, node, meter);
    } else {
      const WorkId work = meter.measure(from_ns, point.start_ns);
      if (input_.steps.source == StepSource::kProfilerStep) {
        graph_.work[work].step_mark_count = (point.kind == PointKind::kCut) + previous_is_cut_;
      }
      add_work_edge(previous_, node, work);
    }
  }

  DurationNs longest_silence_ns(ThreadId thread, TimeNs from_ns, TimeNs to_ns) {
    if (to_ns - from_ns < kSilenceNs) return 0;
    slices_.clear();
    input_.path.slices(thread, from_ns, to_ns, slices_);
    DurationNs longest = 0;
    for (const HostSlice& slice : slices_) {
      if (slice.label == HostLabel::kNoEvent) longest = std::max(longest, slice.end_ns - slice.start_ns);
    }
    return longest;
  }

  void tie_to_main(TimeNs at_ns, NodeId node, WorkMeter& meter) {
    const auto after = std::upper_bound(main_.begin(), main_.end(), at_ns,
                                        [](TimeNs t, const auto& entry) { return t < entry.first; });
    if (after == main_.begin()) return;
    const auto& [from_ns, from] = *std::prev(after);
    if (from_ns > at_ns) return;
    add_work_edge(from, node, meter.measure(from_ns, at_ns));
  }

  void add_work_edge(NodeId from, NodeId to, WorkId work) {
    const DurationNs length = graph_.work[work].length_ns;
    graph_.edges.push_back({from, to, EdgeKind::kWork, work.value, length, 0, length});
  }

  void add_order_edge(NodeId from, NodeId to) {
    const DurationNs weight = graph_.time_ns[to] - graph_.time_ns[from];
    graph_.edges.push_back({from, to, EdgeKind::kOrder, 0, weight, 0, weight});
  }

  void add_handover_edges() {
    WorkMeter main_meter(input_, graph_, window_.main_thread, window_.host.start_ns);
    for (const Handover& handover : handovers_) {
      const Stand& stand = stands_[handover.stand];
      if (!handover.begin.has_value() || !handover.end.has_value()) continue;
      const Handoff& at = handover.at;
      add_work_edge(stand.fork, handover.begin, main_meter.measure_wait(at.fork_ns, at.start_ns));
      add_work_edge(handover.end, stand.join, main_meter.measure_wait(at.end_ns, at.join_ns));
    }
  }

  const ReplayInput& input_;
  const ReplayWindow& window_;
  ReplayGraph& graph_;
  CallIndex& calls_;
  std::vector<Stand> stands_;
  std::vector<Handover> handovers_;
  std::vector<std::uint32_t> by_worker_;         // indices of handovers_, by worker, each worker's in their order
  std::vector<std::pair<TimeNs, NodeId>> main_;  // ascending enough: main's chain
  std::vector<HostSlice> slices_;
  NodeId previous_;
  bool previous_is_cut_ = false;
  bool in_handover_ = false;
};

}  // namespace

void add_host(const ReplayInput& input, const ReplayWindow& window, ReplayGraph& graph, CallIndex& calls) {
  HostChains(input, window, graph, calls).build();
}

}  // namespace stepscope

// One walk over each thread's calls: records and waits come before the launch that they are for.
//
// - A collective that is launched after waits needs the latest work of every other stream that was launched before the
//   thread's latest event record (c10d records on the compute stream, then lets its own stream wait).
// - Other work launched after waits needs the oldest collectives of the thread that nothing has waited for yet, one for
//   each wait; without such collectives, the last work that the thread launched before the record (a copy stream).
#include "analyze/replay/stream_dependencies.h"

#include <algorithm>
#include <deque>

namespace stepscope {
namespace {

// Clocks of GPU events are exact to some hundreds of ns.
constexpr DurationNs kClockSlackNs = 500;
// More streams than any program has; beyond it the all-streams rule would cost too much.
constexpr std::size_t kMaxStreams = 64;
// Collectives that nothing waits for are forgotten in the end, or a hostile file would make the search quadratic.
constexpr std::size_t kMaxCollectives = 1'024;

struct Launched {
  TimeNs launch_ns = 0;
  UnitEndId end;
};

struct StreamWait {
  TimeNs limit_ns = 0;  // start of the latest record before it, else of the wait itself
  UnitId before;        // the last unit that the thread launched before that record
};

class Dependencies {
 public:
  Dependencies(const ReplayInput& input, const ReplayWindow& window, const ReplayGraph& graph, const UnitIndex& index)
      : input_(input), window_(window), graph_(graph), index_(index) {
    by_stream_.raw().resize(input.trace.streams.size());
    for (std::uint32_t e = 0; e < graph.ends.size(); ++e) {
      const UnitEnd& end = graph.ends[UnitEndId(e)];
      const GpuUnit& unit = graph.units[end.unit];
      if (unit.call.has_value()) by_stream_[end.stream].push_back({unit.launch_ns, UnitEndId(e)});
    }
    for (std::uint32_t s = 0; s < by_stream_.size(); ++s) {
      auto& list = by_stream_[StreamId(s)];
      if (!list.empty()) streams_.push_back(StreamId(s));
      std::stable_sort(list.begin(), list.end(),
                       [](const auto& a, const auto& b) { return a.launch_ns < b.launch_ns; });
    }
  }

  std::vector<UnitDependency> find() {
    if (streams_.size() < 2 || streams_.size() > kMaxStreams) return {};
    for (const ThreadId thread : input_.path.working_threads()) walk(thread);
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.unit < b.unit; });
    return std::move(found_);
  }

 private:
  void walk(ThreadId thread) {
    const IdRange<CallId> range = calls_of_window(input_.trace, thread, window_.host);
    StreamWait record{window_.host.start_ns, {}};
    bool recorded = false;
    UnitId latest;
    std::int32_t stretch = GpuUnit::kNoStretch;
    waits_.clear();
    collectives_.clear();
    for (const CallId call : range.ids()) {
      const UnitId unit = input_.trace.calls.gpu_count[call] > 0 ? index_.find(call) : UnitId();
      if (unit.has_value()) {
        latest = unit;
        if (graph_.units[latest].stretch != stretch) collectives_.clear();
        stretch = graph_.units[latest].stretch;
        launch(latest);
        waits_.clear();
      } else if (input_.trace.calls.kind[call] == ApiKind::kEventRecord) {
        record = {input_.trace.calls.start_ns[call], latest};
        recorded = true;
      } else if (input_.trace.calls.kind[call] == ApiKind::kStreamWait) {
        const StreamWait unknown{input_.trace.calls.start_ns[call], latest};
        waits_.push_back(recorded ? record : unknown);
      }
    }
  }

  void launch(UnitId unit) {
    const bool collective = graph_.units[unit].kernel_class == KernelClass::kCommunication;
    if (!waits_.empty()) collective ? wait_for_work(unit) : wait_for_side(unit);
    if (collective) collectives_.push_back(unit);
    if (collectives_.size() > kMaxCollectives) collectives_.pop_front();
  }

  [[nodiscard]] StreamId stream_of(UnitId unit) const { return graph_.ends[first_end(unit)].stream; }
  [[nodiscard]] UnitEndId first_end(UnitId unit) const { return UnitEndId(graph_.units[unit].end_begin); }

  void wait_for_work(UnitId collective) {
    TimeNs limit_ns = waits_.front().limit_ns;
    for (const StreamWait& wait : waits_) limit_ns = std::min(limit_ns, wait.limit_ns);
    for (const StreamId stream : streams_) {
      if (stream == stream_of(collective)) continue;
      const std::vector<Launched>& list = by_stream_[stream];
      const auto after = std::lower_bound(list.begin(), list.end(), limit_ns,
                                          [](const Launched& launched, TimeNs t) { return launched.launch_ns < t; });
      if (after != list.begin()) add(collective, std::prev(after)->end);
    }
  }

  void wait_for_side(UnitId unit) {
    for (const StreamWait& wait : waits_) {
      const auto oldest = std::find_if(collectives_.begin(), collectives_.end(),
                                       [&](UnitId other) { return stream_of(other) != stream_of(unit); });
      if (oldest != collectives_.end()) {
        if (!add(unit, first_end(*oldest))) return;
        collectives_.erase(oldest);
      } else if (wait.before.has_value() && stream_of(wait.before) != stream_of(unit)) {
        add(unit, first_end(wait.before));
      }
    }
  }

  bool add(UnitId unit, UnitEndId on) {
    if (graph_.ends[on].end_ns > graph_.units[unit].start_ns + kClockSlackNs || graph_.ends[on].unit == unit)
      return false;
    found_.push_back({unit, on});
    return true;
  }

  const ReplayInput& input_;
  const ReplayWindow& window_;
  const ReplayGraph& graph_;
  const UnitIndex& index_;
  Column<StreamId, std::vector<Launched>> by_stream_;
  std::vector<StreamId> streams_;
  std::vector<StreamWait> waits_;
  std::deque<UnitId> collectives_;
  std::vector<UnitDependency> found_;
};

}  // namespace

std::vector<UnitDependency> find_stream_dependencies(const ReplayInput& input, const ReplayWindow& window,
                                                     const ReplayGraph& graph, const UnitIndex& index) {
  return Dependencies(input, window, graph, index).find();
}

}  // namespace stepscope

// One sweep over a thread's nested events builds a tree of distinct stacks (a node knows its parent and name), so a
// stack of 60 frames that occurs a million times is one number. The sweep also answers which node is open when a launch
// call begins, since calls of a thread are sorted by start as well.
#include "analyze/call_stacks.h"

#include <tsl/robin_map.h>

#include <algorithm>

namespace stepscope {
namespace {

constexpr std::uint32_t kRoot = 0;

class StackTree {
 public:
  std::uint32_t child(std::uint32_t parent, StringId name) {
    const std::uint64_t key = std::uint64_t{parent} << 32U | name.value;
    const auto [at, is_new] = children_.try_emplace(key, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.push_back({parent, name, 0});
    return at->second;
  }
  void add(std::uint32_t node, DurationNs time_ns) { nodes_[node].time_ns += time_ns; }

  [[nodiscard]] std::vector<FoldedStack> take() const {
    std::vector<FoldedStack> stacks;
    for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
      if (nodes_[node].time_ns <= 0) continue;
      FoldedStack stack;
      stack.time_ns = nodes_[node].time_ns;
      for (std::uint32_t at = node; at != kRoot; at = nodes_[at].parent) stack.frames.push_back(nodes_[at].name);
      std::reverse(stack.frames.begin(), stack.frames.end());
      stacks.push_back(std::move(stack));
    }
    return stacks;
  }

 private:
  struct Node {
    std::uint32_t parent = kRoot;
    StringId name;
    DurationNs time_ns = 0;
  };
  std::vector<Node> nodes_{Node{}};
  tsl::robin_map<std::uint64_t, std::uint32_t> children_;
};

struct HostEvent {
  TimeNs start_ns = 0;
  TimeNs end_ns = 0;
  StringId name;
};

// The events of one thread that make up its stacks, parents before children.
std::vector<HostEvent> nested_events(const Trace& trace, ThreadId thread, bool frames, bool operators) {
  std::vector<HostEvent> events;
  if (frames) {
    for (const FrameId id : trace.frames_of_thread[thread].ids()) {
      events.push_back({trace.frames.start_ns[id], trace.frames.end_ns[id], trace.frames.name[id]});
    }
  } else {
    for (const SpanId id : trace.spans_of_thread[thread].ids()) {
      if (trace.spans.is_async[id] != 0) continue;
      events.push_back({trace.spans.start_ns[id], trace.spans.end_ns[id], trace.spans.name[id]});
    }
  }
  if (operators) {
    for (const OpId id : trace.ops_of_thread[thread].ids()) {
      events.push_back({trace.ops.start_ns[id], trace.ops.end_ns[id], trace.ops.name[id]});
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const HostEvent& a, const HostEvent& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  return events;
}

// Walks a thread in time order with its stack of open events.
class ThreadWalk {
 public:
  ThreadWalk(std::vector<HostEvent> events, StackTree& tree, bool count_cpu)
      : events_(std::move(events)), tree_(tree), count_cpu_(count_cpu) {}

  // The node that is open at `time_ns`; times must not decrease from call to call.
  std::uint32_t node_at(TimeNs time_ns) {
    while (next_ < events_.size() && events_[next_].start_ns <= time_ns) open(events_[next_++]);
    close_until(time_ns);
    return open_.empty() ? kRoot : open_.back().node;
  }
  void finish() {
    while (next_ < events_.size()) open(events_[next_++]);
    close_until(std::numeric_limits<TimeNs>::max());
  }

 private:
  struct Open {
    std::uint32_t node = kRoot;
    TimeNs end_ns = 0;
    TimeNs counted_ns = 0;  // CPU time of this event is counted up to here
  };

  void open(const HostEvent& event) {
    close_until(event.start_ns);
    const std::uint32_t parent = open_.empty() ? kRoot : open_.back().node;
    if (!open_.empty()) count_own_time(open_.back(), event.start_ns);
    // An event that outlasts its parent is cut there: stacks nest.
    const TimeNs end_ns = open_.empty() ? event.end_ns : std::min(event.end_ns, open_.back().end_ns);
    open_.push_back({tree_.child(parent, event.name), end_ns, event.start_ns});
  }
  void count_own_time(Open& open, TimeNs until_ns) {
    if (count_cpu_ && until_ns > open.counted_ns) tree_.add(open.node, until_ns - open.counted_ns);
    open.counted_ns = std::max(open.counted_ns, until_ns);
  }
  void close_until(TimeNs time_ns) {
    while (!open_.empty() && open_.back().end_ns <= time_ns) {
      const TimeNs end_ns = open_.back().end_ns;
      count_own_time(open_.back(), end_ns);
      open_.pop_back();
      if (!open_.empty()) open_.back().counted_ns = std::max(open_.back().counted_ns, end_ns);
    }
  }

  std::vector<HostEvent> events_;
  StackTree& tree_;
  bool count_cpu_;
  std::size_t next_ = 0;
  std::vector<Open> open_;
};

// Sound GPU time that a call launched.
DurationNs device_time_ns(const Trace& trace, CallId call) {
  DurationNs sum_ns = 0;
  for (const GpuEventId id : trace.gpu_events_of(call)) {
    if (trace.gpu_events.fault[id] == TimeFault::kNone)
      sum_ns += trace.gpu_events.end_ns[id] - trace.gpu_events.start_ns[id];
  }
  return sum_ns;
}

}  // namespace

FoldedStacks compute_folded_stacks(const Trace& trace, StackMetric metric, bool with_operators) {
  FoldedStacks folded;
  folded.from_python_frames = !trace.frames.empty();
  const bool operators = with_operators || !folded.from_python_frames;
  StackTree tree;
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    const ThreadId thread(i);
    ThreadWalk walk(nested_events(trace, thread, folded.from_python_frames, operators), tree,
                    metric == StackMetric::kSelfCpuTime);
    if (metric == StackMetric::kSelfDeviceTime) {
      for (const CallId call : trace.calls_of_thread[thread].ids()) {
        if (trace.calls.gpu_count[call] == 0) continue;
        const std::uint32_t node = walk.node_at(trace.calls.start_ns[call]);
        tree.add(node, device_time_ns(trace, call));
      }
    }
    walk.finish();
  }
  folded.stacks = tree.take();
  return folded;
}

}  // namespace stepscope

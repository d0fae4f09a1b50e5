// The merge: four tables sorted by start, a stack of open events, and one slice for each stretch between changes.
//
// The innermost event is the one that started last and is still open. Events of a thread mostly nest, but some
// overlap in part (asynchronous spans, clock steps, frames that CPython closed late), so the stack's top may outlive
// what lies below; those below are dropped when they surface. A data-loader or checkpoint event "anywhere in the stack"
// needs no search of the stack: of each sort only the latest end so far matters. Neighbours with equal label and name
// become one slice, which halves the memory of real traces.
#include "analyze/host_slices.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/own_overhead.h"

namespace stepscope {
namespace {

constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();

// An event that outranks whatever is inside it, as long as one of its sort is open.
struct Ruler {
  TimeNs until_ns = std::numeric_limits<TimeNs>::min();
  StringId name;
  void extend(TimeNs end_ns, StringId by) {
    if (end_ns <= until_ns) return;
    until_ns = end_ns;
    name = by;
  }
};

class Cutter {
 public:
  explicit Cutter(ThreadCut& out, bool want_boundaries) : out_(out), want_boundaries_(want_boundaries) {}

  void open(const HostSlice& event) {
    advance(event.start_ns);
    mark(event.start_ns);
    if (event.end_ns > event.start_ns) stack_.push_back({event.end_ns, event.label, event.detail});
  }
  // Emits everything up to `to`.
  void advance(TimeNs to) {
    for (drop_ended(); now_ < to && !stack_.empty(); drop_ended()) {
      const Open& top = stack_.back();
      TimeNs next = std::min(to, top.end_ns);
      if (own_overhead.until_ns > now_) next = std::min(next, own_overhead.until_ns);
      if (loader.until_ns > now_) next = std::min(next, loader.until_ns);
      if (checkpoint.until_ns > now_) next = std::min(next, checkpoint.until_ns);
      if (optimizer.until_ns > now_) next = std::min(next, optimizer.until_ns);
      emit(next, top.label, top.detail);
      now_ = next;
    }
    now_ = std::max(now_, to);
  }

  Ruler own_overhead, loader, checkpoint, optimizer;

 private:
  struct Open {
    TimeNs end_ns;
    HostLabel label;
    StringId detail;
  };

  void mark(TimeNs time_ns) {
    if (want_boundaries_ && (out_.boundaries.empty() || out_.boundaries.back() != time_ns)) {
      out_.boundaries.push_back(time_ns);
    }
  }
  void drop_ended() {
    for (; !stack_.empty() && stack_.back().end_ns <= now_; stack_.pop_back()) mark(stack_.back().end_ns);
  }
  void emit(TimeNs end_ns, HostLabel label, StringId detail) {
    if (own_overhead.until_ns > now_) {
      label = HostLabel::kProfiler;
      detail = own_overhead.name;
    } else if (loader.until_ns > now_) {
      label = HostLabel::kDataLoader;
      detail = loader.name;
    } else if (checkpoint.until_ns > now_) {
      label = HostLabel::kCheckpoint;
      detail = checkpoint.name;
    } else if (optimizer.until_ns > now_ && (label == HostLabel::kOperator || label == HostLabel::kPython)) {
      label = HostLabel::kOptimizer;
    }
    auto& slices = out_.slices;
    if (!slices.empty() && slices.back().end_ns == now_ && slices.back().label == label &&
        slices.back().detail == detail) {
      slices.back().end_ns = end_ns;
    } else {
      slices.push_back({now_, end_ns, label, detail});
    }
  }

  ThreadCut& out_;
  bool want_boundaries_;
  std::vector<Open> stack_;
  TimeNs now_ = std::numeric_limits<TimeNs>::min();
};

// Rows of one table on one thread, with the next one's start at hand.
struct Source {
  enum Kind : std::uint8_t { kSpan, kFrame, kOp, kCall } kind;
  std::uint32_t at;
  std::uint32_t end;
  const TimeNs* start_ns;
  const TimeNs* end_ns;
  const StringId* name;
  TimeNs next_ns;

  [[nodiscard]] TimeNs next_end_ns() const { return end_ns[at]; }
  void step() {
    ++at;
    next_ns = at < end ? start_ns[at] : kNever;
  }
};

template <class Table, class Id>
Source source_of(Source::Kind kind, const Table& table, IdRange<Id> rows) {
  return {kind,
          rows.begin,
          rows.end,
          table.start_ns.raw().data(),
          table.end_ns.raw().data(),
          table.name.raw().data(),
          rows.empty() ? kNever : table.start_ns.raw()[rows.begin]};
}

HostLabel label_of_call(const Trace& trace, CallId call) {
  switch (trace.calls.kind[call]) {
    case ApiKind::kStreamSync:
    case ApiKind::kEventSync:
    case ApiKind::kDeviceSync:
      return HostLabel::kSynchronization;
    case ApiKind::kAllocate:
    case ApiKind::kFree:
      return HostLabel::kAllocator;
    case ApiKind::kCopy:
      return outlasted_its_copy(trace, call) ? HostLabel::kBlockingCopy : HostLabel::kLaunch;
    case ApiKind::kLaunch:
    case ApiKind::kGraphLaunch:
    case ApiKind::kSet:
      return HostLabel::kLaunch;
    default:
      return HostLabel::kOtherApi;
  }
}

// Opens the next event of `source` in `cutter`.
void open_event(const Trace& trace, const HostNames& names, const Source& source, Cutter& cutter) {
  const StringId name = source.name[source.at];
  HostSlice event{source.next_ns, source.next_end_ns(), HostLabel::kPython, name};
  bool loads = false, saves = false;
  switch (source.kind) {
    case Source::kSpan:
      loads = names.span_loads_data(name);
      saves = names.has(name, kCheckpointSpanName);
      event.detail = names.folded(name);
      break;
    case Source::kFrame:
      loads = names.has(name, kLoaderName);
      saves = names.has(name, kCheckpointFrameName);
      break;
    case Source::kOp:
      loads = names.has(name, kLoaderName);  // old profilers write record_function spans as operators
      event.label = HostLabel::kOperator;
      break;
    case Source::kCall:
      event.label = label_of_call(trace, CallId(source.at));
      break;
  }
  cutter.open(event);
  if (source.kind == Source::kCall) return;
  if (loads) cutter.loader.extend(event.end_ns, name);
  if (saves) cutter.checkpoint.extend(event.end_ns, name);
  if (names.has(name, kOptimizerStepName)) cutter.optimizer.extend(event.end_ns, name);
}

void open_more(const Trace& trace, const HostSlice& row, Cutter& cutter) {
  cutter.open(row);
  // What the program's thread does inside it, it does for us.
  if (row.label == HostLabel::kProfiler && trace.text(row.detail).starts_with(kOwnOverheadPrefix)) {
    cutter.own_overhead.extend(row.end_ns, row.detail);
  }
  if (row.label == HostLabel::kCheckpoint) cutter.checkpoint.extend(row.end_ns, row.detail);
}

// The source whose next event comes first; of equal starts the longer one, then the outer sort (a span before a frame
// before an operator before a call).
std::size_t first_of(const std::array<Source, 4>& sources) {
  std::size_t best = 0;
  for (std::size_t at = 1; at < sources.size(); ++at) {
    if (sources[at].next_ns > sources[best].next_ns || sources[at].next_ns == kNever) continue;
    if (sources[at].next_ns < sources[best].next_ns || sources[at].next_end_ns() > sources[best].next_end_ns()) {
      best = at;
    }
  }
  return best;
}

}  // namespace

bool outlasted_its_copy(const Trace& trace, CallId call) {
  for (const GpuEventId event : trace.gpu_events_of(call)) {
    if (trace.gpu_events.kind[event] == GpuEventKind::kCopy && trace.gpu_events.fault[event] == TimeFault::kNone &&
        trace.gpu_events.end_ns[event] <= trace.calls.end_ns[call]) {
      return true;
    }
  }
  return false;
}

ThreadCut cut_thread(const Trace& trace, const HostNames& names, ThreadId thread, std::span<const HostSlice> more,
                     bool want_boundaries) {
  ThreadCut out;
  Cutter cutter(out, want_boundaries);
  std::array<Source, 4> sources = {source_of(Source::kSpan, trace.spans, trace.spans_of_thread[thread]),
                                   source_of(Source::kFrame, trace.frames, trace.frames_of_thread[thread]),
                                   source_of(Source::kOp, trace.ops, trace.ops_of_thread[thread]),
                                   source_of(Source::kCall, trace.calls, trace.calls_of_thread[thread])};
  // Each event changes the picture twice at most. Memory that is reserved and not written costs nothing, growing does:
  // fresh pages were half of this pass.
  std::size_t rows = more.size();
  for (const Source& source : sources) rows += source.end - source.at;
  out.slices.reserve(2 * rows);
  if (want_boundaries) out.boundaries.reserve(2 * rows);
  auto next_more = more.begin();
  for (;;) {
    Source& source = sources[first_of(sources)];
    for (; next_more != more.end() && next_more->start_ns < source.next_ns; ++next_more)
      open_more(trace, *next_more, cutter);
    if (source.next_ns == kNever) break;
    open_event(trace, names, source, cutter);
    source.step();
  }
  cutter.advance(kNever);
  // Ends below a longer top came late; in well nested traces this is a check only.
  if (!std::is_sorted(out.boundaries.begin(), out.boundaries.end())) {
    std::sort(out.boundaries.begin(), out.boundaries.end());
  }
  return out;
}

}  // namespace stepscope

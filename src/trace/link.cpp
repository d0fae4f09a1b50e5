// Linking: containment by one walk a thread, numbers by NumberIndex, one index for each process that has rows.
//
// A GPU row names no process. With one launching process the correlation alone decides; with several, a number
// that two of them used cannot be assigned: the event stays unlinked and the file is noted as merged.
#include "trace/link.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/parallel.h"
#include "trace/api_kind.h"
#include "trace/number_index.h"

namespace stepscope {
namespace {

// Innermost row of the same table that wholly contains each row, for rows [begin, end) of one thread. A partial
// overlap makes no parent (as in PyTorch's own tables).
template <class RowId, class Times>
void link_parents(IdRange<RowId> range, const Times& rows, Column<RowId, RowId>& parent) {
  std::vector<RowId> open;
  for (RowId id : range.ids()) {
    while (!open.empty() &&
           (rows.start_ns[id] >= rows.end_ns[open.back()] || rows.end_ns[id] > rows.end_ns[open.back()])) {
      open.pop_back();
    }
    parent[id] = open.empty() ? RowId{} : open.back();
    open.push_back(id);
  }
}

// The operator that is open when each call of the thread starts.
void link_calls_to_ops(Trace& trace, ThreadId thread) {
  const IdRange<OpId> ops = trace.ops_of_thread[thread];
  std::vector<OpId> open;
  std::uint32_t next = ops.begin;
  for (CallId call : trace.calls_of_thread[thread].ids()) {
    const TimeNs at = trace.calls.start_ns[call];
    for (; next < ops.end && trace.ops.start_ns[OpId(next)] <= at; ++next) {
      while (!open.empty() && trace.ops.end_ns[open.back()] <= trace.ops.start_ns[OpId(next)]) open.pop_back();
      open.push_back(OpId(next));
    }
    while (!open.empty() && trace.ops.end_ns[open.back()] <= at) open.pop_back();
    trace.calls.op[call] = open.empty() ? OpId{} : open.back();
  }
}

void link_host(Trace& trace, unsigned threads) {
  parallel_for(trace.threads.size(), threads, [&](std::size_t i) {
    const ThreadId thread(i);
    link_parents(trace.ops_of_thread[thread], trace.ops, trace.ops.parent);
    link_parents(trace.frames_of_thread[thread], trace.frames, trace.frames.parent);
    link_calls_to_ops(trace, thread);
  });
}

bool starts_work(ApiKind kind) {
  return kind == ApiKind::kLaunch || kind == ApiKind::kGraphLaunch || kind == ApiKind::kCopy || kind == ApiKind::kSet;
}

// Our own recorder writes a launch without a number where it knows that it started nothing: it went into a graph that
// was being captured. In other files a number that is missing may be lost.
void classify_calls(Trace& trace) {
  const bool is_ours = trace.info.producer == "capture";
  std::vector<std::uint8_t> kinds(trace.strings.size(), 0xFF);
  for (CallId id : trace.calls.ids().ids()) {
    std::uint8_t& kind = kinds[trace.calls.name[id].value];
    if (kind == 0xFF) kind = static_cast<std::uint8_t>(classify_api(trace.text(trace.calls.name[id])));
    trace.calls.kind[id] = static_cast<ApiKind>(kind);
    if (is_ours && starts_work(trace.calls.kind[id]) && !trace.calls.correlation[id].has_value()) {
      trace.calls.kind[id] = ApiKind::kOther;
    }
  }
}

// Rows of a host table that belong to each process.
template <class RowId>
std::vector<std::vector<RowId>> rows_by_process(const Trace& trace, const Column<ThreadId, IdRange<RowId>>& ranges) {
  std::vector<std::vector<RowId>> rows(trace.processes.size());
  for (ThreadId thread : trace.threads.ids().ids()) {
    auto& of_process = rows[trace.threads.process[thread].value];
    for (RowId id : ranges[thread].ids()) of_process.push_back(id);
  }
  return rows;
}

template <class RowId, class Number>
std::vector<NumberIndex<RowId>> index_by_process(const std::vector<std::vector<RowId>>& rows, Number number) {
  std::vector<NumberIndex<RowId>> indexes;
  indexes.reserve(rows.size());
  for (const auto& of_process : rows) indexes.push_back(NumberIndex<RowId>::build(of_process, number));
  return indexes;
}

// Calls by correlation number, for GPU events, which name no process (or, rarely, do).
class CallIndex {
 public:
  explicit CallIndex(const Trace& trace) : trace_(trace) {
    auto correlation = [&](CallId id) { return trace.calls.correlation[id]; };
    std::vector<CallId> all;
    all.reserve(trace.calls.size());
    for (CallId id : trace.calls.ids().ids()) all.push_back(id);
    first_ = NumberIndex<CallId>::build(all, correlation);
    for (ProcessId id : trace.processes.ids().ids()) processes_.try_emplace(trace.text(trace.processes.key[id]), id);
    if (trace.processes.size() < 2) return;
    clashes_.resize(trace.calls.size());
    for (CallId id : all) {
      const CallId first = first_.find(trace.calls.correlation[id]);
      if (first.has_value() && process_of(first) != process_of(id)) clashes_[first.value] = true;
    }
    by_process_ = index_by_process(rows_by_process(trace, trace.calls_of_thread), correlation);
  }

  // The call with the number; `is_clash` if calls of several processes have it.
  CallId find(MaybeInt process_hint, MaybeInt number, bool& is_clash) const {
    is_clash = false;
    const CallId first = first_.find(number);
    if (!first.has_value()) return {};
    if (process_hint.has_value()) {
      const auto process = processes_.find(std::to_string(process_hint.value()));
      if (process == processes_.end()) return {};
      return by_process_.empty() ? first : by_process_[process->second.value].find(number);
    }
    is_clash = !clashes_.empty() && clashes_[first.value];
    return is_clash ? CallId{} : first;
  }

 private:
  ProcessId process_of(CallId id) const { return trace_.threads.process[trace_.calls.thread[id]]; }

  const Trace& trace_;
  NumberIndex<CallId> first_;                    // of all processes
  std::vector<NumberIndex<CallId>> by_process_;  // only where there are several
  std::vector<bool> clashes_;                    // CallId -> another process uses its number too; empty: never
  tsl::robin_map<std::string_view, ProcessId> processes_;
};

void link_gpu_events(Trace& trace, const CallIndex& calls, const std::vector<NumberIndex<OpId>>& ops) {
  GpuEvents& events = trace.gpu_events;
  std::uint64_t clashes = 0;
  std::uint64_t first_clash = 0;
  for (GpuEventId id : events.ids().ids()) {
    bool is_clash = false;
    const CallId call = calls.find(events.process_hint[id], events.correlation[id], is_clash);
    if (is_clash) {
      if (clashes++ == 0) first_clash = events.file_order[id];
      continue;
    }
    events.call[id] = call;
    if (call.has_value()) {
      const ProcessId process = trace.threads.process[trace.calls.thread[call]];
      const OpId op = ops[process.value].find(events.external_id[id]);
      events.op[id] = op.has_value() ? op : trace.calls.op[call];
    } else if (ops.size() == 1) {
      events.op[id] = ops[0].find(events.external_id[id]);
    }
  }
  if (clashes > 0) {
    trace.notes.add(NoteKind::kMergedProcesses, NoteSeverity::kUnsound, first_clash,
                    "several processes used the same correlation numbers: their GPU events cannot be assigned",
                    clashes);
  }
}

// Duplicates stand side by side after sorting.
void mark_duplicates(Trace& trace) {
  GpuEvents& events = trace.gpu_events;
  auto same = [&](GpuEventId a, GpuEventId b) {
    return events.start_ns[a] == events.start_ns[b] && events.end_ns[a] == events.end_ns[b] &&
           events.device[a] == events.device[b] && events.stream[a] == events.stream[b] &&
           events.name[a] == events.name[b] && events.correlation[a] == events.correlation[b] &&
           events.grid_x[a] == events.grid_x[b] && events.bytes[a] == events.bytes[b];
  };
  for (GpuEventId id : events.ids().ids()) {
    if (events.fault[id] != TimeFault::kNone || !events.correlation[id].has_value()) continue;
    for (std::uint32_t back = id.value; back > 0; --back) {
      const GpuEventId before(back - 1);
      if (events.device[before] != events.device[id] || events.start_ns[before] != events.start_ns[id] ||
          events.end_ns[before] != events.end_ns[id])
        break;
      if (id.value - back > 16) break;  // more equal starts than streams: not worth a quadratic search
      if (!same(before, id)) continue;
      events.fault[id] = TimeFault::kDuplicate;
      trace.notes.add(NoteKind::kDuplicateEvent, NoteSeverity::kRecovered, events.file_order[id],
                      trace.text(events.name[id]));
      break;
    }
  }
}

void index_events_by_call(Trace& trace) {
  const GpuEvents& events = trace.gpu_events;
  Calls& calls = trace.calls;
  std::size_t linked = 0;
  for (GpuEventId id : events.ids().ids()) {
    if (!events.call[id].has_value() || events.fault[id] == TimeFault::kDuplicate) continue;
    ++calls.gpu_count[events.call[id]];
    ++linked;
  }
  std::uint32_t at = 0;
  for (CallId id : calls.ids().ids()) {
    calls.gpu_begin[id] = at;
    at += calls.gpu_count[id];
    if (calls.gpu_count[id] > 0 && (calls.kind[id] == ApiKind::kOther || calls.kind[id] == ApiKind::kModuleLoad))
      calls.kind[id] = ApiKind::kLaunch;
  }
  trace.gpu_events_by_call.resize(linked);
  std::vector<std::uint32_t> next(calls.gpu_begin.raw());
  for (GpuEventId id : events.ids().ids()) {
    if (!events.call[id].has_value() || events.fault[id] == TimeFault::kDuplicate) continue;
    trace.gpu_events_by_call[next[events.call[id].value]++] = id;
  }
}

void note_negative_latencies(Trace& trace) {
  const GpuEvents& events = trace.gpu_events;
  for (CallId call : trace.calls.ids().ids()) {
    if (trace.calls.gpu_count[call] == 0) continue;
    const GpuEventId first = trace.gpu_events_of(call)[0];
    if (events.start_ns[first] >= trace.calls.start_ns[call]) continue;
    trace.notes.add(NoteKind::kNegativeLatency, NoteSeverity::kInfo, events.file_order[first],
                    trace.text(events.name[first]));
  }
}

}  // namespace

void link_trace(Trace& trace, unsigned threads) {
  link_host(trace, threads);
  classify_calls(trace);
  std::vector<NumberIndex<OpId>> ops;
  std::optional<CallIndex> calls;
  const std::function<void()> indexing[] = {
      [&] {
        ops = index_by_process(rows_by_process(trace, trace.ops_of_thread),
                               [&](OpId id) { return trace.ops.external_id[id]; });
      },
      [&] { calls.emplace(trace); },
  };
  parallel_for(std::size(indexing), threads, [&](std::size_t i) { indexing[i](); });
  for (CallId id : trace.calls.ids().ids()) {
    const ProcessId process = trace.threads.process[trace.calls.thread[id]];
    trace.calls.op_by_external_id[id] = ops[process.value].find(trace.calls.external_id[id]);
  }
  mark_duplicates(trace);
  link_gpu_events(trace, *calls, ops);
  index_events_by_call(trace);
  note_negative_latencies(trace);
}

}  // namespace stepscope

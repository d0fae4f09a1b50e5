// Linking: containment by one walk a thread, numbers by NumberIndex, one index for each process that has rows.
//
// A GPU row names no process. With one launching process the correlation alone decides; with several, a number
// that two of them used cannot be assigned: the event stays unlinked and the file is noted as merged.
#include "trace/link.h"

#include <algorithm>

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

void classify_calls(Trace& trace) {
  std::vector<std::uint8_t> kinds(trace.strings.size(), 0xFF);
  for (CallId id : trace.calls.ids().ids()) {
    std::uint8_t& kind = kinds[trace.calls.name[id].value];
    if (kind == 0xFF) kind = static_cast<std::uint8_t>(classify_api(trace.text(trace.calls.name[id])));
    trace.calls.kind[id] = static_cast<ApiKind>(kind);
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

struct Found {
  CallId call;
  std::size_t matches = 0;
};

Found find_call(const Trace& trace, const std::vector<NumberIndex<CallId>>& calls, MaybeInt hint,
                MaybeInt correlation) {
  Found found;
  for (std::size_t p = 0; p < calls.size(); ++p) {
    if (hint.has_value() && trace.text(trace.processes.key[ProcessId(p)]) != std::to_string(hint.value())) continue;
    const CallId call = calls[p].find(correlation);
    if (!call.has_value()) continue;
    if (found.matches++ == 0) found.call = call;
  }
  return found;
}

void link_gpu_events(Trace& trace, const std::vector<NumberIndex<CallId>>& calls,
                     const std::vector<NumberIndex<OpId>>& ops) {
  GpuEvents& events = trace.gpu_events;
  std::uint64_t clashes = 0;
  std::uint64_t first_clash = 0;
  for (GpuEventId id : events.ids().ids()) {
    const Found found = find_call(trace, calls, events.process_hint[id], events.correlation[id]);
    if (found.matches > 1) {
      if (clashes++ == 0) first_clash = events.file_order[id];
      continue;
    }
    events.call[id] = found.call;
    if (found.call.has_value()) {
      const ProcessId process = trace.threads.process[trace.calls.thread[found.call]];
      const OpId op = ops[process.value].find(events.external_id[id]);
      events.op[id] = op.has_value() ? op : trace.calls.op[found.call];
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
  std::vector<NumberIndex<CallId>> calls;
  const std::function<void()> indexing[] = {
      [&] {
        ops = index_by_process(rows_by_process(trace, trace.ops_of_thread),
                               [&](OpId id) { return trace.ops.external_id[id]; });
      },
      [&] {
        calls = index_by_process(rows_by_process(trace, trace.calls_of_thread),
                                 [&](CallId id) { return trace.calls.correlation[id]; });
      },
  };
  parallel_for(std::size(indexing), threads, [&](std::size_t i) { indexing[i](); });
  for (CallId id : trace.calls.ids().ids()) {
    const ProcessId process = trace.threads.process[trace.calls.thread[id]];
    trace.calls.op_by_external_id[id] = ops[process.value].find(trace.calls.external_id[id]);
  }
  mark_duplicates(trace);
  link_gpu_events(trace, calls, ops);
  index_events_by_call(trace);
  note_negative_latencies(trace);
}

}  // namespace stepscope

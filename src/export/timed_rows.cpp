// Four sorted runs merged two by two: a sort would not know that they are sorted.
#include "export/timed_rows.h"

#include <algorithm>

namespace stepscope {
namespace {

bool comes_before(const TimedRow& a, const TimedRow& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
  return a.table < b.table;
}

template <class Rows, class Range, class Keep>
void append(const Rows& rows, Range range, RowTable table, Keep keep, std::vector<TimedRow>& out) {
  const auto middle = static_cast<std::ptrdiff_t>(out.size());
  for (const auto id : range.ids()) {
    if (keep(id)) out.push_back({rows.start_ns[id], rows.end_ns[id], id.value, table});
  }
  std::inplace_merge(out.begin(), out.begin() + middle, out.end(), comes_before);
}

constexpr auto kAll = [](auto) { return true; };

}  // namespace

StringId TimedRow::name(const Trace& trace) const {
  switch (table) {
    case RowTable::kSpan:
      return trace.spans.name[SpanId(row)];
    case RowTable::kFrame:
      return trace.frames.name[FrameId(row)];
    case RowTable::kOp:
      return trace.ops.name[OpId(row)];
    case RowTable::kCall:
      return trace.calls.name[CallId(row)];
    case RowTable::kGpuSpan:
      return trace.gpu_spans.name[GpuSpanId(row)];
    case RowTable::kGpuEvent:
      break;
  }
  return trace.gpu_events.name[GpuEventId(row)];
}

bool is_driver_call(std::string_view name) {
  return name.size() > 2 && name.starts_with("cu") && name[2] >= 'A' && name[2] <= 'Z';
}

std::vector<TimedRow> rows_of_thread(const Trace& trace, ThreadId thread) {
  std::vector<TimedRow> out;
  out.reserve(trace.spans_of_thread[thread].size() + trace.frames_of_thread[thread].size() +
              trace.ops_of_thread[thread].size() + trace.calls_of_thread[thread].size());
  append(
      trace.spans, trace.spans_of_thread[thread], RowTable::kSpan,
      [&](SpanId id) { return trace.spans.is_async[id] == 0; }, out);
  append(trace.frames, trace.frames_of_thread[thread], RowTable::kFrame, kAll, out);
  append(trace.ops, trace.ops_of_thread[thread], RowTable::kOp, kAll, out);
  append(trace.calls, trace.calls_of_thread[thread], RowTable::kCall, kAll, out);
  return out;
}

std::vector<TimedRow> async_rows_of_thread(const Trace& trace, ThreadId thread) {
  std::vector<TimedRow> out;
  append(
      trace.spans, trace.spans_of_thread[thread], RowTable::kSpan,
      [&](SpanId id) { return trace.spans.is_async[id] != 0; }, out);
  return out;
}

StreamRows rows_of_streams(const Trace& trace) {
  StreamRows out;
  out.events.raw().resize(trace.streams.size());
  out.spans.raw().resize(trace.streams.size());
  for (const GpuEventId id : trace.gpu_events.ids().ids()) {
    out.events[trace.gpu_events.stream[id]].push_back(
        {trace.gpu_events.start_ns[id], trace.gpu_events.end_ns[id], id.value, RowTable::kGpuEvent});
  }
  for (const GpuSpanId id : trace.gpu_spans.ids().ids()) {
    out.spans[trace.gpu_spans.stream[id]].push_back(
        {trace.gpu_spans.start_ns[id], trace.gpu_spans.end_ns[id], id.value, RowTable::kGpuSpan});
  }
  // Both tables are sorted by time, but shorter events first.
  for (auto* table : {&out.events, &out.spans}) {
    for (std::vector<TimedRow>& rows : table->raw()) std::stable_sort(rows.begin(), rows.end(), comes_before);
  }
  return out;
}

}  // namespace stepscope

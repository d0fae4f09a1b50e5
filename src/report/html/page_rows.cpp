// Merges the host tables thread by thread, sorts GPU events by stream, and leaves out the shortest where there are too
// many. The limit is a power of two, found in one count by length: exact ranks would need a sort of all lengths.
#include "report/html/page_rows.h"

#include <algorithm>
#include <array>
#include <bit>

#include "analyze/host_nodes.h"

namespace stepscope {
namespace {

bool comes_before(const HostRow& a, const HostRow& b) {
  if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
  return a.end_ns > b.end_ns;
}

HostRow row_of(const Trace& trace, const HostNode& node) {
  HostRowKind kind = HostRowKind::kCall;
  if (node.table == HostTable::kOp) kind = HostRowKind::kOperator;
  if (node.table == HostTable::kSpan) {
    kind = trace.spans.is_async[SpanId(node.row)] != 0 ? HostRowKind::kAsyncSpan : HostRowKind::kSpan;
  }
  return {node.start_ns, node.end_ns, kind, node.row};
}

// Appends the rows of a thread; frames first where they begin and end with what runs in them.
void merge_thread(const Trace& trace, ThreadId thread, std::vector<HostRow>& rows) {
  const auto first = static_cast<std::ptrdiff_t>(rows.size());
  for (const FrameId id : trace.frames_of_thread[thread].ids()) {
    rows.push_back({trace.frames.start_ns[id], trace.frames.end_ns[id], HostRowKind::kFrame, id.value});
  }
  const auto middle = static_cast<std::ptrdiff_t>(rows.size());
  for_each_host_node(trace, thread, [&](const HostNode& node) { rows.push_back(row_of(trace, node)); });
  std::inplace_merge(rows.begin() + first, rows.begin() + middle, rows.end(), comes_before);
}

class LengthCounts {
 public:
  void add(DurationNs length_ns) {
    ++counts_[std::bit_width(static_cast<std::uint64_t>(std::max<DurationNs>(length_ns, 0)))];
  }
  // The least power of two such that at most `most` lengths reach it; 0 when all may stay.
  [[nodiscard]] DurationNs shortest(std::size_t most) const {
    std::size_t kept = 0;
    for (std::size_t width = counts_.size(); width-- > 0;) {
      kept += counts_[width];
      if (kept > most) return DurationNs{1} << std::min<std::size_t>(width, 62);
    }
    return 0;
  }

 private:
  std::array<std::size_t, 65> counts_{};
};

bool is_span(const HostRow& row) { return row.kind == HostRowKind::kSpan || row.kind == HostRowKind::kAsyncSpan; }

void choose_host(const Trace& trace, std::size_t most, PageRows& out) {
  LengthCounts counts;
  for (std::size_t i = 0; i < trace.ops.size(); ++i)
    counts.add(trace.ops.end_ns.raw()[i] - trace.ops.start_ns.raw()[i]);
  for (std::size_t i = 0; i < trace.calls.size(); ++i) {
    counts.add(trace.calls.end_ns.raw()[i] - trace.calls.start_ns.raw()[i]);
  }
  for (std::size_t i = 0; i < trace.frames.size(); ++i) {
    counts.add(trace.frames.end_ns.raw()[i] - trace.frames.start_ns.raw()[i]);
  }
  out.shortest_host_ns = counts.shortest(most);
  out.host_of_op.assign(trace.ops.size(), 0);
  out.host_of_call.assign(trace.calls.size(), 0);
  std::vector<HostRow> merged;
  for (const ThreadId thread : trace.threads.ids().ids()) {
    merged.clear();
    merge_thread(trace, thread, merged);
    const std::size_t before = out.host.size();
    for (const HostRow& row : merged) {
      if (!is_span(row) && row.end_ns - row.start_ns < out.shortest_host_ns) continue;
      out.host.push_back(row);
      const auto number = static_cast<std::uint32_t>(out.host.size());
      if (row.kind == HostRowKind::kOperator) out.host_of_op[row.row] = number;
      if (row.kind == HostRowKind::kCall) out.host_of_call[row.row] = number;
    }
    const std::size_t kept = out.host.size() - before;
    out.host_count_of_thread.push_back(static_cast<std::uint32_t>(kept));
    out.left_out_of_thread.push_back(static_cast<std::uint32_t>(merged.size() - kept));
  }
}

void choose_gpu(const Trace& trace, std::size_t most, PageRows& out) {
  const GpuEvents& events = trace.gpu_events;
  LengthCounts counts;
  for (std::size_t i = 0; i < events.size(); ++i) counts.add(events.end_ns.raw()[i] - events.start_ns.raw()[i]);
  out.shortest_gpu_ns = counts.shortest(most);
  std::vector<std::vector<GpuEventId>> by_stream(trace.streams.size());
  out.left_out_of_stream.assign(trace.streams.size(), 0);
  for (const GpuEventId id : events.ids().ids()) {
    if (events.fault[id] != TimeFault::kNone) continue;
    const std::uint32_t stream = events.stream[id].value;
    if (events.end_ns[id] - events.start_ns[id] < out.shortest_gpu_ns) {
      ++out.left_out_of_stream[stream];
    } else {
      by_stream[stream].push_back(id);
    }
  }
  out.gpu_row.assign(events.size(), 0);
  for (const auto& ids : by_stream) {
    out.gpu_count_of_stream.push_back(static_cast<std::uint32_t>(ids.size()));
    for (const GpuEventId id : ids) {
      out.gpu.push_back(id);
      out.gpu_row[id.value] = static_cast<std::uint32_t>(out.gpu.size());
    }
  }
}

// The least start of any row; 0 for an empty page.
TimeNs find_origin(const Trace& trace, const PageRows& rows) {
  TimeNs origin = std::numeric_limits<TimeNs>::max();
  for (const HostRow& row : rows.host) {
    // Frames stay open while the profiler starts; those that began long before would be a page of nothing.
    if (row.kind != HostRowKind::kFrame) origin = std::min(origin, row.start_ns);
  }
  for (const GpuEventId id : rows.gpu) origin = std::min(origin, trace.gpu_events.start_ns[id]);
  if (origin == std::numeric_limits<TimeNs>::max() && !rows.host.empty()) origin = rows.host.front().start_ns;
  return origin == std::numeric_limits<TimeNs>::max() ? 0 : origin;
}

}  // namespace

PageRows choose_page_rows(const Trace& trace, std::size_t most_host_count, std::size_t most_gpu_count) {
  PageRows rows;
  choose_host(trace, most_host_count, rows);
  choose_gpu(trace, most_gpu_count, rows);
  rows.origin_ns = find_origin(trace, rows);
  return rows;
}

}  // namespace stepscope

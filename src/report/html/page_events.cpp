// Places, host rows and GPU rows of a page.
#include <map>
#include <tuple>

#include "analyze/backward_links.h"
#include "report/html/page_tables.h"

namespace stepscope {
namespace {

DurationNs length_of(TimeNs start_ns, TimeNs end_ns) { return std::max<DurationNs>(end_ns - start_ns, 0); }

StringId name_of(const Trace& trace, const HostRow& row) {
  switch (row.kind) {
    case HostRowKind::kOperator:
      return trace.ops.name[OpId(row.row)];
    case HostRowKind::kCall:
      return trace.calls.name[CallId(row.row)];
    case HostRowKind::kFrame:
      return trace.frames.name[FrameId(row.row)];
    case HostRowKind::kSpan:
    case HostRowKind::kAsyncSpan:
      return trace.spans.name[SpanId(row.row)];
  }
  return {};
}

// How a kernel was launched; many kernels share one.
using LaunchConfig = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                std::int32_t, std::int32_t, std::int16_t>;

LaunchConfig config_of(const GpuEvents& events, GpuEventId id) {
  return {events.grid_x[id],          events.grid_y[id],       events.grid_z[id],
          events.block_x[id],         events.block_y[id],      events.block_z[id],
          events.registers_count[id], events.shared_bytes[id], events.occupancy_percent[id]};
}

template <std::size_t kAt>
auto config_value(const std::vector<LaunchConfig>& configs) {
  return [&configs](std::size_t i) { return std::max<std::int64_t>(std::get<kAt>(configs[i]), 0); };
}

PageTable config_table(const std::vector<LaunchConfig>& configs) {
  PageTable table("configs", configs.size());
  table.add_uint("grid_x", config_value<0>(configs));
  table.add_uint("grid_y", config_value<1>(configs));
  table.add_uint("grid_z", config_value<2>(configs));
  table.add_uint("block_x", config_value<3>(configs));
  table.add_uint("block_y", config_value<4>(configs));
  table.add_uint("block_z", config_value<5>(configs));
  table.add_uint("registers_count", config_value<6>(configs));
  table.add_uint("shared_bytes", config_value<7>(configs));
  table.add_uint("occupancy_percent", [&](std::size_t i) { return std::get<8>(configs[i]) + 1; });
  return table;
}

PageTable collective_table(const PageInput& input) {
  const Collectives& all = input.trace.collectives;
  PageTable table("collectives", all.size());
  table.add_uint("name", [&](std::size_t i) { return input.strings.number(all.name[CollectiveId(i)]); });
  table.add_uint("dtype", [&](std::size_t i) { return input.strings.number(all.dtype[CollectiveId(i)]); });
  table.add_uint("element_count",
                 [&](std::size_t i) { return std::max<std::int64_t>(all.in_count[CollectiveId(i)].value_or(0), 0); });
  table.add_uint("group_size",
                 [&](std::size_t i) { return std::max<std::int64_t>(all.group_size[CollectiveId(i)].value_or(0), 0); });
  return table;
}

PageTable gpu_span_table(const PageInput& input) {
  const GpuSpans& spans = input.trace.gpu_spans;
  PageTable table("gpu_spans", spans.size());
  table.add_uint("stream", [&](std::size_t i) { return spans.stream[GpuSpanId(i)].value; });
  table.add_delta("start_ns", [&](std::size_t i) { return input.since_origin(spans.start_ns[GpuSpanId(i)]); });
  table.add_uint("duration_ns",
                 [&](std::size_t i) { return length_of(spans.start_ns[GpuSpanId(i)], spans.end_ns[GpuSpanId(i)]); });
  table.add_uint("name", [&](std::size_t i) { return input.strings.number(spans.name[GpuSpanId(i)]); });
  table.add_uint("category", [&](std::size_t i) { return input.strings.number(spans.category[GpuSpanId(i)]); });
  return table;
}

}  // namespace

void add_place_tables(const PageInput& input, std::vector<PageTable>& out) {
  const Trace& trace = input.trace;
  const ThreadId main = input.facts.steps.main_thread;
  PageTable threads("threads", trace.threads.size());
  threads.add_uint("key", [&](std::size_t i) { return input.strings.number(trace.threads.key[ThreadId(i)]); });
  threads.add_uint("name", [&](std::size_t i) { return input.strings.number(trace.threads.name[ThreadId(i)]); });
  threads.add_uint("process", [&](std::size_t i) {
    return input.strings.number(trace.processes.key[trace.threads.process[ThreadId(i)]]);
  });
  threads.add_uint("host_count", [&](std::size_t i) { return input.rows.host_count_of_thread[i]; });
  threads.add_uint("left_out_count", [&](std::size_t i) { return input.rows.left_out_of_thread[i]; });
  threads.add_uint("is_main", [&](std::size_t i) { return main == ThreadId(i) ? 1 : 0; });
  out.push_back(std::move(threads));

  PageTable devices("devices", trace.devices.size());
  devices.add_delta("number", [&](std::size_t i) { return trace.devices.number[DeviceId(i)]; });
  devices.add_uint("name", [&](std::size_t i) { return input.strings.number(trace.devices.name[DeviceId(i)]); });
  out.push_back(std::move(devices));

  PageTable streams("streams", trace.streams.size());
  streams.add_uint("device", [&](std::size_t i) { return trace.streams.device[StreamId(i)].value; });
  streams.add_uint("key", [&](std::size_t i) { return input.strings.number(trace.streams.key[StreamId(i)]); });
  streams.add_uint("gpu_count", [&](std::size_t i) { return input.rows.gpu_count_of_stream[i]; });
  streams.add_uint("left_out_count", [&](std::size_t i) { return input.rows.left_out_of_stream[i]; });
  out.push_back(std::move(streams));
}

void add_host_table(const PageInput& input, std::vector<PageTable>& out) {
  const Trace& trace = input.trace;
  const std::vector<HostRow>& rows = input.rows.host;
  const BackwardLinks links = compute_backward_links(trace);
  const auto op_text = [&](std::size_t i, const Column<OpId, StringId>& column) -> std::uint32_t {
    return rows[i].kind == HostRowKind::kOperator ? input.strings.number(column[OpId(rows[i].row)]) : 0;
  };
  PageTable table("host", rows.size());
  table.add_delta("start_ns", [&](std::size_t i) { return input.since_origin(rows[i].start_ns); });
  table.add_uint("duration_ns", [&](std::size_t i) { return length_of(rows[i].start_ns, rows[i].end_ns); });
  table.add_uint("kind", [&](std::size_t i) { return static_cast<unsigned>(rows[i].kind); });
  table.add_uint("name", [&](std::size_t i) { return input.strings.number(name_of(trace, rows[i])); });
  table.add_uint("shapes", [&](std::size_t i) { return op_text(i, trace.ops.shapes); });
  table.add_uint("types", [&](std::size_t i) { return op_text(i, trace.ops.types); });
  table.add_uint("call_stack", [&](std::size_t i) { return op_text(i, trace.ops.call_stack); });
  table.add_delta("forward", [&](std::size_t i) -> std::uint32_t {
    if (rows[i].kind != HostRowKind::kOperator || links.forward.empty()) return 0;
    const OpId forward = links.forward[OpId(rows[i].row)];
    return forward.has_value() ? input.rows.host_of_op[forward.value] : 0;
  });
  out.push_back(std::move(table));
}

void add_gpu_tables(const PageInput& input, std::vector<PageTable>& out) {
  const GpuEvents& events = input.trace.gpu_events;
  const std::vector<GpuEventId>& rows = input.rows.gpu;
  std::map<LaunchConfig, std::uint32_t> config_numbers;
  std::vector<LaunchConfig> configs;
  PageTable table("gpu", rows.size());
  table.add_delta("start_ns", [&](std::size_t i) { return input.since_origin(events.start_ns[rows[i]]); });
  table.add_uint("duration_ns", [&](std::size_t i) {
    return length_of(events.start_ns[rows[i]], input.facts.timeline.end_ns[rows[i]]);
  });
  table.add_uint("kind", [&](std::size_t i) { return static_cast<unsigned>(input.facts.classes.of[rows[i]]); });
  table.add_uint("name", [&](std::size_t i) { return input.strings.number(events.name[rows[i]]); });
  table.add_delta("launch", [&](std::size_t i) {
    const CallId call = events.call[rows[i]];
    return call.has_value() ? input.rows.host_of_call[call.value] : 0U;
  });
  table.add_delta("operator", [&](std::size_t i) {
    const OpId op = events.op[rows[i]];
    return op.has_value() ? input.rows.host_of_op[op.value] : 0U;
  });
  table.add_uint("operator_name", [&](std::size_t i) { return input.strings.number(events.op_name[rows[i]]); });
  table.add_uint("bytes",
                 [&](std::size_t i) { return std::max<std::int64_t>(events.bytes[rows[i]].value_or(-1), -1) + 1; });
  table.add_uint("config", [&](std::size_t i) {
    const LaunchConfig config = config_of(events, rows[i]);
    const auto [at, is_new] = config_numbers.try_emplace(config, static_cast<std::uint32_t>(configs.size()));
    if (is_new) configs.push_back(config);
    return at->second;
  });
  table.add_uint("collective", [&](std::size_t i) {
    const CollectiveId collective = events.collective[rows[i]];
    return collective.has_value() ? collective.value + 1 : 0U;
  });
  out.push_back(std::move(table));
  out.push_back(config_table(configs));
  out.push_back(collective_table(input));
  out.push_back(gpu_span_table(input));
}

}  // namespace stepscope

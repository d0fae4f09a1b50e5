// One function a table.
#include "python/analysis_tables.h"

#include "analyze/device_gaps.h"
#include "analyze/gap_story.h"
#include "python/table_maker.h"
#include "report/step_table.h"

namespace stepscope::python {
namespace {

std::string join_frames(const std::vector<std::string>& frames) {
  std::string joined;
  for (const std::string& frame : frames) {
    if (!joined.empty()) joined += '\n';
    joined += frame;
  }
  return joined;
}

void add_times(const std::vector<AverageRow>& rows, TableMaker& table) {
  using Row = AverageRow;
  const auto add = [&](const char* name, const char* doc, std::int64_t Row::*member) {
    table.numbers_of(name, doc, rows, [member](const Row& row) { return row.*member; });
  };
  add("count", "calls, as torch counts them", &Row::count);
  add("record_count", "events in the file", &Row::record_count);
  add("cpu_time_total_ns", "ns, children included", &Row::cpu_time_total_ns);
  add("self_cpu_time_total_ns", "ns, without children", &Row::self_cpu_time_total_ns);
  add("device_time_total_ns", "ns on the GPU, children included", &Row::device_time_total_ns);
  add("self_device_time_total_ns", "ns on the GPU of its own kernels", &Row::self_device_time_total_ns);
  add("inclusive_ns", "ns, nested repeats counted once", &Row::inclusive_ns);
  add("cpu_memory_usage_bytes", "allocated minus freed", &Row::cpu_memory_usage_bytes);
  add("self_cpu_memory_usage_bytes", "without children", &Row::self_cpu_memory_usage_bytes);
  add("device_memory_usage_bytes", "allocated minus freed", &Row::device_memory_usage_bytes);
  add("self_device_memory_usage_bytes", "without children", &Row::self_device_memory_usage_bytes);
  add("flops", "by torch's formulas; 0 where there is none", &Row::flops);
  table.numbers_of("is_async", "1: begun and ended apart", rows, [](const Row& row) { return row.is_async ? 1 : 0; });
  table.numbers_of("is_user_annotation", "1: a label, not work", rows,
                   [](const Row& row) { return row.is_user_annotation ? 1 : 0; });
}

struct GapRow {
  std::int64_t device = 0;
  TimeNs start_ns = 0;
  DurationNs duration_ns = 0;
  std::int64_t step = kMissing;
  std::string_view cause, detail, ended_by;
  std::int64_t launch_ns = kMissing;
};

// The longest part of the blame view.
void add_cause(const Trace& trace, const GapStory& story, GapRow& row) {
  DurationNs longest = 0;
  for (const HostSlice& slice : story.blame) {
    const DurationNs length = slice.end_ns - slice.start_ns;
    if (length <= longest) continue;
    longest = length;
    row.cause = host_label_name(slice.label);
    row.detail = trace.text(slice.detail);
  }
}

void add_gaps(const Trace& trace, const Facts& facts, const DeviceBusy& busy, std::vector<GapRow>& rows) {
  GapReader reader(trace, facts.timeline, facts.launches, facts.steps, busy);
  GapTeller teller(trace, facts.path);
  DeviceGap gap;
  GapStory story;
  while (reader.next(gap)) {
    GapRow row;
    row.device = trace.devices.number[busy.device];
    row.start_ns = gap.at.start_ns;
    row.duration_ns = gap.at.length_ns();
    if (const auto step = facts.steps.find_by_gpu_time(gap.at.start_ns)) row.step = facts.steps.steps[*step].number;
    if (gap.ended_by) row.ended_by = trace.text(trace.gpu_events.name[*gap.ended_by]);
    if (gap.call.has_value()) row.launch_ns = gap.launch_ns;
    if (gap.cause == GapCause::kKernelGap) {
      row.cause = "kernel_gap";
    } else if (gap.cause == GapCause::kUnlinked) {
      row.cause = "unlinked";
    } else {
      teller.tell(gap, story);
      add_cause(trace, story, row);
    }
    rows.push_back(row);
  }
}

}  // namespace

TablePointer averages_table(const Trace& trace, const AveragesOptions& options) {
  const Averages averages = compute_averages(trace, options);
  TableMaker table;
  table.texts_of("name", "", averages.rows, [](const AverageRow& row) { return std::string_view(row.key); });
  table.texts_of("device_type", "", averages.rows,
                 [](const AverageRow& row) { return std::string_view(row.device_type); });
  if (options.group_by == GroupBy::kShape) {
    table.texts_of("input_shapes", "torch's list text", averages.rows,
                   [](const AverageRow& row) { return std::string_view(row.input_shapes); });
  }
  if (options.group_by == GroupBy::kStack) {
    std::vector<std::string> stacks;
    stacks.reserve(averages.rows.size());
    for (const AverageRow& row : averages.rows) stacks.push_back(join_frames(row.stack));
    table.texts_of("stack", "frames, innermost first, a line each", stacks,
                   [](const std::string& stack) { return std::string_view(stack); });
  }
  add_times(averages.rows, table);
  return table.take();
}

TablePointer kernels_table(const Trace& trace, const Facts& facts) {
  const GpuEvents& events = trace.gpu_events;
  const auto ids = events.ids();
  std::vector<GpuEventId> rows;
  rows.reserve(ids.size());
  for (const GpuEventId id : ids.ids()) {
    if (facts.timeline.counts(trace, id)) rows.push_back(id);
  }
  constexpr std::array<std::string_view, 3> kKinds = {"kernel", "copy", "set"};
  TableMaker table;
  table.texts_of("name", "", rows, [&](GpuEventId id) { return trace.text(events.name[id]); });
  table.texts_of("kind", "kernel, copy or set", rows,
                 [&](GpuEventId id) { return kKinds[static_cast<std::size_t>(events.kind[id])]; });
  table.texts_of("class", "what it does, from its name", rows,
                 [&](GpuEventId id) { return kernel_class_name(facts.classes.of[id]); });
  table.texts_of("op", "operator that launched it; empty if not known", rows, [&](GpuEventId id) {
    return events.op[id].has_value() ? trace.text(trace.ops.name[events.op[id]]) : trace.text(events.op_name[id]);
  });
  table.numbers_of("device", "", rows, [&](GpuEventId id) { return trace.devices.number[events.device[id]]; });
  table.texts_of("stream", "as written in the file", rows,
                 [&](GpuEventId id) { return trace.text(trace.streams.key[events.stream[id]]); });
  table.numbers_of("start_ns", "ns on the trace's clock", rows, [&](GpuEventId id) { return events.start_ns[id]; });
  table.numbers_of("duration_ns", "ns; ended where its stream went on", rows,
                   [&](GpuEventId id) { return facts.timeline.end_ns[id] - events.start_ns[id]; });
  table.numbers_of("launch_latency_ns", "GPU start minus start of the launch call; null if not known", rows,
                   [&](GpuEventId id) {
                     const CallId call = events.call[id];
                     return call.has_value() ? events.start_ns[id] - trace.calls.start_ns[call] : kMissing;
                   });
  table.numbers_of("step", "number of the step that launched it; null outside of steps", rows, [&](GpuEventId id) {
    const CallId call = events.call[id];
    const auto step = call.has_value() ? facts.steps.find_by_host_time(trace.calls.start_ns[call])
                                       : facts.steps.find_by_gpu_time(events.start_ns[id]);
    return step ? facts.steps.steps[*step].number : kMissing;
  });
  table.numbers_of("bytes", "moved or set; null for kernels", rows,
                   [&](GpuEventId id) { return events.bytes[id].raw; });
  return table.take();
}

TablePointer steps_table(const Trace& trace, const Facts& facts) {
  const StepTable steps = build_step_table(facts, trace);
  const auto& rows = steps.rows;
  const auto or_missing = [](const std::optional<std::int64_t>& value) { return value.value_or(kMissing); };
  TableMaker table;
  table.numbers_of("step", "N of ProfilerStep#N, else the position from 0", rows,
                   [](const StepRow& row) { return row.number; });
  table.numbers_of("start_ns", "ns from the start of the window", rows,
                   [](const StepRow& row) { return row.start_ns; });
  table.numbers_of("duration_ns", "on the GPU's clock", rows, [](const StepRow& row) { return row.duration_ns; });
  table.numbers_of("host_span_ns", "how long the host took to queue it", rows,
                   [](const StepRow& row) { return row.host_span_ns; });
  table.numbers_of("host_lead_ns", "how far the host ran ahead at its end", rows,
                   [](const StepRow& row) { return row.host_lead_ns; });
  table.numbers_of("gpu_busy_ns", "null without GPU events", rows,
                   [&](const StepRow& row) { return or_missing(row.gpu_busy_ns); });
  table.numbers_of("idle_ns", "duration minus busy", rows, [&](const StepRow& row) { return or_missing(row.idle_ns); });
  table.numbers_of("exposed_communication_ns", "not under compute", rows,
                   [&](const StepRow& row) { return or_missing(row.exposed_communication_ns); });
  table.texts_of("idle_cause", "the largest; empty if there is none", rows, [](const StepRow& row) {
    return row.idle_cause ? host_label_name(*row.idle_cause) : std::string_view();
  });
  table.numbers_of("gpu_event_count", "launched in it", rows, [](const StepRow& row) { return row.gpu_event_count; });
  table.numbers_of("allocated_peak_bytes", "null if memory was not recorded", rows,
                   [&](const StepRow& row) { return or_missing(row.allocated_peak_bytes); });
  table.numbers_of("reserved_peak_bytes", "null if memory was not recorded", rows,
                   [&](const StepRow& row) { return or_missing(row.reserved_peak_bytes); });
  return table.take();
}

TablePointer gaps_table(const Trace& trace, const Facts& facts) {
  std::vector<GapRow> rows;
  for (const DeviceBusy& busy : facts.busy) add_gaps(trace, facts, busy, rows);
  TableMaker table;
  table.numbers_of("device", "", rows, [](const GapRow& row) { return row.device; });
  table.numbers_of("start_ns", "ns on the trace's clock", rows, [](const GapRow& row) { return row.start_ns; });
  table.numbers_of("duration_ns", "", rows, [](const GapRow& row) { return row.duration_ns; });
  table.numbers_of("step", "null outside of steps", rows, [](const GapRow& row) { return row.step; });
  table.texts_of("cause", "what the host did in the time by which the launch came too late", rows,
                 [](const GapRow& row) { return row.cause; });
  table.texts_of("detail", "its name", rows, [](const GapRow& row) { return row.detail; });
  table.texts_of("ended_by", "GPU event that ended the gap; empty at the window's end", rows,
                 [](const GapRow& row) { return row.ended_by; });
  table.numbers_of("launch_ns", "start of its launch call; null if not known", rows,
                   [](const GapRow& row) { return row.launch_ns; });
  return table.take();
}

}  // namespace stepscope::python

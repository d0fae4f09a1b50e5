// Tracks first, then the rows track by track, each track in order of time: Perfetto sorts by time and keeps the order
// of equal times, which is what puts the end of a slice before the begin of the next.
#include "export/perfetto_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "export/json_text.h"
#include "export/perfetto_packets.h"
#include "export/timed_rows.h"

namespace stepscope {
namespace {

// Numbers of tracks: what it is, its row, its lane.
enum class TrackKind : std::uint64_t {
  kProcess = 1,
  kThread,
  kAsyncSpans,
  kDevice,
  kStream,
  kStreamSpans,
  kCounter,
  kMemory,
  kOther
};
TrackId track_of(TrackKind kind, std::uint32_t row, std::size_t lane = 0) {
  return {static_cast<std::uint64_t>(kind) << 48U | std::uint64_t{lane} << 32U | row};
}

// A pid or tid as Perfetto takes it: 0 stands for the idle task there.
std::int32_t number_of(std::string_view key) {
  std::int32_t number = 0;
  const auto end = std::from_chars(key.data(), key.data() + key.size(), number);
  return end.ec == std::errc() && end.ptr == key.data() + key.size() && number > 0 ? number : 0;
}

// By append: GCC 12 warns of overlaps that are none when a string is put in front of a temporary one.
std::string joined(std::string_view a, std::string_view b) {
  std::string out(a);
  out += b;
  return out;
}

SliceCategory category_of_mark(std::string_view category) {
  if (category == "cuda_sync") return SliceCategory::kSync;
  return category == "cuda_event" ? SliceCategory::kEventMark : SliceCategory::kGpuSpan;
}

SliceCategory category_of(const Trace& trace, const TimedRow& row) {
  switch (row.table) {
    case RowTable::kSpan:
      return SliceCategory::kSpan;
    case RowTable::kFrame:
      return SliceCategory::kFrame;
    case RowTable::kOp:
      return SliceCategory::kOp;
    case RowTable::kCall: {
      const std::string_view name = trace.text(trace.calls.name[CallId(row.row)]);
      return is_driver_call(name) ? SliceCategory::kDriverCall : SliceCategory::kRuntimeCall;
    }
    case RowTable::kGpuSpan:
      return category_of_mark(trace.text(trace.gpu_spans.category[GpuSpanId(row.row)]));
    case RowTable::kGpuEvent:
      break;
  }
  switch (trace.gpu_events.kind[GpuEventId(row.row)]) {
    case GpuEventKind::kCopy:
      return SliceCategory::kCopy;
    case GpuEventKind::kSet:
      return SliceCategory::kSet;
    case GpuEventKind::kKernel:
      break;
  }
  return SliceCategory::kKernel;
}

// Flows of the file other than those from launches to GPU events, each end at the operator that begins there.
class OperatorFlows {
 public:
  struct End {
    OpId op;
    std::uint64_t flow = 0;
    bool is_start = false;
  };
  explicit OperatorFlows(const Trace& trace) {
    std::map<std::pair<StringId, StringId>, ThreadId> threads;
    for (const ThreadId id : trace.threads.ids().ids()) {
      threads.emplace(std::pair(trace.processes.key[trace.threads.process[id]], trace.threads.key[id]), id);
    }
    const Flows& flows = trace.flows;
    for (const FlowId id : flows.ids().ids()) {
      if (trace.text(flows.category[id]) == "ac2g" || !flows.id_text[id].empty()) continue;
      const auto thread = threads.find({flows.process_key[id], flows.thread_key[id]});
      if (thread == threads.end()) continue;
      const OpId op = starting_at(trace, thread->second, flows.time_ns[id]);
      if (op.has_value()) ends_.push_back({op, kOwn | flows.id[id], flows.phase[id] != 'f'});
    }
    std::stable_sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) { return a.op < b.op; });
  }
  [[nodiscard]] std::pair<const End*, const End*> of(OpId op) const {
    const auto [begin, end] = std::equal_range(ends_.begin(), ends_.end(), End{op, 0, false},
                                               [](const End& a, const End& b) { return a.op < b.op; });
    return {ends_.data() + (begin - ends_.begin()), ends_.data() + (end - ends_.begin())};
  }

 private:
  // Apart from the numbers of launches.
  static constexpr std::uint64_t kOwn = std::uint64_t{1} << 63U;

  static OpId starting_at(const Trace& trace, ThreadId thread, TimeNs time_ns) {
    const IdRange<OpId> range = trace.ops_of_thread[thread];
    const auto& starts = trace.ops.start_ns.raw();
    const auto at = std::lower_bound(starts.begin() + range.begin, starts.begin() + range.end, time_ns);
    const auto row = static_cast<std::uint32_t>(at - starts.begin());
    return row < range.end && *at == time_ns ? OpId(row) : OpId();
  }
  std::vector<End> ends_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const Trace& trace, TextBuffer& out)
      : trace_(trace), packets_(trace, out, trace.info.base_ns), flows_(trace) {}

  void write() {
    if (trace_.info.base_ns != 0) packets_.put_clock(0);
    put_places();
    for (const ThreadId id : trace_.threads.ids().ids()) {
      put_rows(rows_of_thread(trace_, id), TrackKind::kThread, id.value);
      put_rows(async_rows_of_thread(trace_, id), TrackKind::kAsyncSpans, id.value);
    }
    StreamRows streams = rows_of_streams(trace_);
    for (const StreamId id : trace_.streams.ids().ids()) {
      put_rows(std::move(streams.events[id]), TrackKind::kStream, id.value);
      put_rows(std::move(streams.spans[id]), TrackKind::kStreamSpans, id.value);
    }
    put_memory();
    put_counters();
    put_others();
  }

  // What for_each_lane calls.
  void begin_lane(std::size_t lane) {
    lane_ = track_of(kind_, row_, lane);
    if (lane > 0) {
      put_track(lane_, track_of(kind_, row_), "overlapping");
    } else if (kind_ == TrackKind::kAsyncSpans) {
      put_track(lane_, track_of(TrackKind::kThread, row_), "asynchronous spans");
    } else if (kind_ == TrackKind::kStreamSpans) {
      const StreamId stream(row_);
      put_track(lane_, track_of(TrackKind::kDevice, trace_.streams.device[stream].value),
                stream_name(stream) + " annotations");
    }
  }
  void begin(const TimedRow& row) {
    packets_.begin_slice(lane_, row.start_ns, category_of(trace_, row), row.name(trace_));
    put_arguments(row);
    packets_.end_packet();
  }
  void end(const TimedRow&, TimeNs end_ns) { packets_.put_slice_end(lane_, end_ns); }
  void end_lane(std::size_t) {}

 private:
  void put_rows(std::vector<TimedRow> rows, TrackKind kind, std::uint32_t row) {
    if (packets_.failed()) return;
    kind_ = kind;
    row_ = row;
    for_each_lane(std::move(rows), *this);
  }

  void put_track(TrackId id, TrackId parent, std::string_view name) {
    TrackDescription track;
    track.id = id;
    track.parent = parent;
    track.name = name;
    packets_.put_track(track);
  }

  void put_places() {
    for (const ProcessId id : trace_.processes.ids().ids()) {
      TrackDescription track;
      track.id = track_of(TrackKind::kProcess, id.value);
      const std::string key(trace_.text(trace_.processes.key[id]));
      const std::string_view name = trace_.text(trace_.processes.name[id]);
      const std::string own = joined("process ", key);
      track.name = name.empty() ? std::string_view(own) : name;
      track.pid = number_of(key);
      track.labels = trace_.text(trace_.processes.labels[id]);
      packets_.put_track(track);
    }
    for (const ThreadId id : trace_.threads.ids().ids()) {
      const ProcessId process = trace_.threads.process[id];
      TrackDescription track;
      track.id = track_of(TrackKind::kThread, id.value);
      track.parent = track_of(TrackKind::kProcess, process.value);
      const std::string own = joined("thread ", trace_.text(trace_.threads.key[id]));
      const std::string_view name = trace_.text(trace_.threads.name[id]);
      track.name = name.empty() ? std::string_view(own) : name;
      track.pid = number_of(trace_.text(trace_.processes.key[process]));
      track.tid = track.pid == 0 ? 0 : number_of(trace_.text(trace_.threads.key[id]));
      if (track.tid == 0) track.pid = 0;  // a track of its process by name alone
      packets_.put_track(track);
    }
    for (const DeviceId id : trace_.devices.ids().ids()) {
      std::string name = std::string("GPU ") + std::to_string(trace_.devices.number[id]);
      if (!trace_.devices.name[id].empty()) name += ": " + std::string(trace_.text(trace_.devices.name[id]));
      put_track(track_of(TrackKind::kDevice, id.value), {}, name);
    }
    for (const StreamId id : trace_.streams.ids().ids()) {
      TrackDescription track;
      track.id = track_of(TrackKind::kStream, id.value);
      track.parent = track_of(TrackKind::kDevice, trace_.streams.device[id].value);
      const std::string name = stream_name(id);
      track.name = name;
      track.rank = static_cast<std::int32_t>(std::min<std::uint32_t>(id.value, 1U << 20U)) + 1;
      packets_.put_track(track);
    }
  }

  [[nodiscard]] std::string stream_name(StreamId id) const {
    if (!trace_.streams.name[id].empty()) return std::string(trace_.text(trace_.streams.name[id]));
    return joined("stream ", trace_.text(trace_.streams.key[id]));
  }

  void put_arguments(const TimedRow& row) {
    switch (row.table) {
      case RowTable::kSpan:
        put_span(SpanId(row.row));
        break;
      case RowTable::kFrame:
        break;
      case RowTable::kOp:
        put_op(OpId(row.row));
        break;
      case RowTable::kCall:
        put_call(CallId(row.row));
        break;
      case RowTable::kGpuSpan:
        put_mark(GpuSpanId(row.row));
        break;
      case RowTable::kGpuEvent:
        put_gpu_event(GpuEventId(row.row));
        break;
    }
  }

  void put_span(SpanId id) {
    packets_.put_argument(ArgumentName::kExternalId, trace_.spans.external_id[id]);
    packets_.put_argument(ArgumentName::kStepNumber, trace_.spans.step_number[id]);
    packets_.put_argument(ArgumentName::kCallStack, trace_.spans.call_stack[id]);
  }

  // The category is an argument where the slice's own does not say it (JAX's modules).
  void put_mark(GpuSpanId id) {
    const StringId category = trace_.gpu_spans.category[id];
    const std::string_view text = trace_.text(category);
    packets_.put_argument(ArgumentName::kExternalId, trace_.gpu_spans.external_id[id]);
    packets_.put_argument(ArgumentName::kCorrelation, trace_.gpu_spans.correlation[id]);
    if (category_of_mark(text) == SliceCategory::kGpuSpan && text != "gpu_user_annotation")
      packets_.put_argument(ArgumentName::kCategory, category);
  }

  void put_op(OpId id) {
    const Ops& ops = trace_.ops;
    packets_.put_argument(ArgumentName::kExternalId, ops.external_id[id]);
    packets_.put_argument(ArgumentName::kSequence, ops.sequence[id]);
    packets_.put_argument(ArgumentName::kForwardThread, ops.forward_thread[id]);
    packets_.put_argument(ArgumentName::kShapes, ops.shapes[id]);
    packets_.put_argument(ArgumentName::kTypes, ops.types[id]);
    packets_.put_argument(ArgumentName::kConcreteInputs, ops.concrete_inputs[id]);
    packets_.put_argument(ArgumentName::kFlops, ops.flops[id]);
    packets_.put_argument(ArgumentName::kCallStack, ops.call_stack[id]);
    const auto [begin, end] = flows_.of(id);
    for (const auto* flow = begin; flow != end; ++flow) {
      if (flow->is_start)
        packets_.put_flow_start(flow->flow);
      else
        packets_.put_flow_end(flow->flow);
    }
  }

  // One arrow to each GPU event, which has the arrow's number.
  void put_call(CallId id) {
    packets_.put_argument(ArgumentName::kExternalId, trace_.calls.external_id[id]);
    packets_.put_argument(ArgumentName::kCorrelation, trace_.calls.correlation[id]);
    for (const GpuEventId event : trace_.gpu_events_of(id)) packets_.put_flow_start(std::uint64_t{event.value} + 1);
  }

  void put_gpu_event(GpuEventId id) {
    const GpuEvents& events = trace_.gpu_events;
    packets_.put_argument(ArgumentName::kCorrelation, events.correlation[id]);
    packets_.put_argument(ArgumentName::kExternalId, events.external_id[id]);
    packets_.put_argument(ArgumentName::kGraphId, events.graph_id[id]);
    packets_.put_argument(ArgumentName::kBytes, events.bytes[id]);
    const StringId op = events.op[id].has_value() ? trace_.ops.name[events.op[id]] : events.op_name[id];
    packets_.put_argument(ArgumentName::kOperator, op);
    packets_.put_argument(ArgumentName::kCallStack, events.call_stack[id]);
    put_launch(id);
    if (events.occupancy_percent[id] >= 0)
      packets_.put_argument(ArgumentName::kOccupancy, events.occupancy_percent[id]);
    if (const CollectiveId collective = events.collective[id]; collective.has_value()) put_collective(collective);
    if (events.fault[id] == TimeFault::kBadDuration) packets_.put_argument(ArgumentName::kFault, "bad duration");
    if (events.fault[id] == TimeFault::kDuplicate) packets_.put_argument(ArgumentName::kFault, "duplicate");
    if (events.call[id].has_value()) packets_.put_flow_end(std::uint64_t{id.value} + 1);
  }

  // Of a launch that is known, no shared memory is a number like any other.
  void put_launch(GpuEventId id) {
    const GpuEvents& events = trace_.gpu_events;
    if (events.grid_x[id] != 0) put_sizes(ArgumentName::kGrid, events.grid_x[id], events.grid_y[id], events.grid_z[id]);
    if (events.block_x[id] != 0)
      put_sizes(ArgumentName::kBlock, events.block_x[id], events.block_y[id], events.block_z[id]);
    const bool is_known = events.grid_x[id] != 0 || events.block_x[id] != 0;
    if (is_known || events.registers_count[id] != 0)
      packets_.put_argument(ArgumentName::kRegisters, events.registers_count[id]);
    if (is_known || events.shared_bytes[id] != 0)
      packets_.put_argument(ArgumentName::kSharedBytes, events.shared_bytes[id]);
  }

  void put_sizes(ArgumentName name, std::int32_t x, std::int32_t y, std::int32_t z) {
    sizes_.assign(1, '[');
    for (const std::int32_t size : {x, y, z}) (sizes_ += std::to_string(size)) += ',';
    sizes_.back() = ']';
    packets_.put_argument(name, std::string_view(sizes_));
  }

  void put_collective(CollectiveId id) {
    const Collectives& collectives = trace_.collectives;
    packets_.put_argument(ArgumentName::kCollective, collectives.name[id]);
    packets_.put_argument(ArgumentName::kDtype, collectives.dtype[id]);
    packets_.put_argument(ArgumentName::kGroup, collectives.group_name[id]);
    packets_.put_argument(ArgumentName::kGroupRanks, collectives.group_ranks[id]);
    packets_.put_argument(ArgumentName::kGroupSize, collectives.group_size[id]);
    packets_.put_argument(ArgumentName::kInCount, collectives.in_count[id]);
    packets_.put_argument(ArgumentName::kOutCount, collectives.out_count[id]);
  }

  // Allocated and reserved of each device, the CPU's too.
  void put_memory() {
    const MemoryEvents& events = trace_.memory_events;
    std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> tracks;
    for (const MemoryEventId id : events.ids().ids()) {
      if (packets_.failed()) return;
      const std::pair key(events.device_type[id], events.device_number[id]);
      const auto [at, is_new] = tracks.emplace(key, static_cast<std::uint32_t>(tracks.size()));
      if (is_new) {
        const std::string device = key.first == 0 ? "CPU" : std::string("GPU ") + std::to_string(key.second);
        put_counter_track(track_of(TrackKind::kMemory, at->second, 0), {}, device + " memory allocated", true);
        put_counter_track(track_of(TrackKind::kMemory, at->second, 1), {}, device + " memory reserved", true);
      }
      const auto put = [&](MaybeInt bytes, std::size_t lane) {
        if (bytes.has_value())
          packets_.put_counter(track_of(TrackKind::kMemory, at->second, lane), events.time_ns[id], bytes.value());
      };
      put(events.total_allocated_bytes[id], 0);
      put(events.total_reserved_bytes[id], 1);
    }
  }

  void put_counter_track(TrackId id, TrackId parent, std::string_view name, bool is_bytes) {
    TrackDescription track;
    track.id = id;
    track.parent = parent;
    track.name = name;
    track.is_counter = true;
    track.is_bytes = is_bytes;
    packets_.put_track(track);
  }

  void put_counters() {
    const Counters& counters = trace_.counters;
    std::map<std::tuple<StringId, StringId, StringId>, std::uint32_t> tracks;
    for (const CounterId id : counters.ids().ids()) {
      if (packets_.failed()) return;
      if (!std::isfinite(counters.value[id])) continue;
      const std::tuple key(counters.process_key[id], counters.name[id], counters.series[id]);
      const auto [at, is_new] = tracks.emplace(key, static_cast<std::uint32_t>(tracks.size()));
      const TrackId track = track_of(TrackKind::kCounter, at->second);
      if (is_new) {
        const std::string name =
            std::string(trace_.text(counters.name[id])) + " " + std::string(trace_.text(counters.series[id]));
        put_counter_track(track, process_track(counters.process_key[id]), name, false);
      }
      packets_.put_counter(track, counters.time_ns[id], counters.value[id]);
    }
  }

  [[nodiscard]] TrackId process_track(StringId key) const {
    for (const ProcessId id : trace_.processes.ids().ids()) {
      if (trace_.processes.key[id] == key) return track_of(TrackKind::kProcess, id.value);
    }
    return {};
  }

  // Overhead, the recording itself, events of no known meaning: a track for each row of the file, instants as such.
  void put_others() {
    const OtherEvents& events = trace_.other_events;
    std::map<std::pair<StringId, StringId>, std::vector<OtherEventId>> rows;
    for (const OtherEventId id : events.ids().ids())
      rows[{events.process_key[id], events.thread_key[id]}].push_back(id);
    std::uint32_t number = 0;
    for (auto& [key, ids] : rows) {
      std::stable_sort(ids.begin(), ids.end(),
                       [&](OtherEventId a, OtherEventId b) { return events.start_ns[a] < events.start_ns[b]; });
      const TrackId base = track_of(TrackKind::kOther, number++);
      put_track(base, process_track(key.first), joined("other events of ", trace_.text(key.second)));
      for (const OtherEventId id : ids) {
        if (packets_.failed()) return;
        put_other(base, id);
      }
    }
  }

  // Slices of other events may overlap in any way, so each kind has a track, and a slice cut short of nothing is one.
  void put_other(TrackId base, OtherEventId id) {
    const OtherEvents& events = trace_.other_events;
    const bool is_slice = events.phase[id] == 'X' && events.end_ns[id] > events.start_ns[id];
    if (!is_slice) {
      packets_.begin_instant(base, events.start_ns[id], SliceCategory::kOther, events.name[id]);
      packets_.put_argument(ArgumentName::kCategory, events.category[id]);
      packets_.end_packet();
      return;
    }
    TrackId& track = other_lanes_[base.uuid].free_at(events.start_ns[id], events.end_ns[id], [&](std::size_t lane) {
      const TrackId added{base.uuid | std::uint64_t{lane + 1} << 32U};
      put_track(added, base, "overlapping");
      return added;
    });
    packets_.begin_slice(track, events.start_ns[id], SliceCategory::kOther, events.name[id]);
    packets_.put_argument(ArgumentName::kCategory, events.category[id]);
    packets_.end_packet();
    packets_.put_slice_end(track, events.end_ns[id]);
  }

  // Tracks on which no two slices overlap; at most kMostLanes, the last of which takes what is over.
  struct FreeLanes {
    struct Lane {
      TrackId track;
      TimeNs end_ns = 0;
    };
    std::vector<Lane> lanes;
    template <class Add>
    TrackId& free_at(TimeNs start_ns, TimeNs end_ns, Add add) {
      auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& one) { return one.end_ns <= start_ns; });
      if (lane == lanes.end() && lanes.size() < kMostLanes) {
        lanes.push_back({add(lanes.size()), end_ns});
        lane = lanes.end() - 1;
      } else if (lane == lanes.end()) {
        --lane;
      }
      lane->end_ns = std::max(lane->end_ns, end_ns);
      return lane->track;
    }
  };

  const Trace& trace_;
  PerfettoPackets packets_;
  OperatorFlows flows_;
  std::map<std::uint64_t, FreeLanes> other_lanes_;
  TrackKind kind_ = TrackKind::kThread;
  std::uint32_t row_ = 0;
  TrackId lane_;
  std::string sizes_;
};

}  // namespace

Status write_perfetto_trace(const Trace& trace, const TextSink& sink) {
  TextBuffer out(sink);
  PerfettoWriter(trace, out).write();
  return out.finish();
}

Status write_perfetto_trace_file(const Trace& trace, const std::string& path) {
  return write_text_file(path, [&](const TextSink& sink) { return write_perfetto_trace(trace, sink); });
}

}  // namespace stepscope

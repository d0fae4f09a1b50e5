// Renumbers fragments as they come, and at the end sorts, scatters and links them.
#include "trace/builder.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "base/parallel.h"
#include "trace/link.h"
#include "trace/scatter.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace stepscope {

void return_free_memory(std::size_t freed_bytes) {
#if defined(__GLIBC__)
  constexpr std::size_t kStep = 16 << 20;
  static std::atomic<std::size_t> freed{0};
  const std::size_t before = freed.fetch_add(freed_bytes);
  if (before / kStep != (before + freed_bytes) / kStep) malloc_trim(0);
#else
  (void)freed_bytes;
#endif
}

struct Builder::State {
  Trace trace;
  std::vector<Piece> pieces;
  std::vector<DeviceProperties> properties;
  std::vector<PlaceName> names;
  std::uint32_t collective_count = 0;
  Fragment places;  // all places seen so far, with strings of its own

  void renumber_places(Piece& piece);
  void take_places();
  void name_places();
};

Builder::Builder() : state_(std::make_unique<State>()) {}
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;

TraceInfo& Builder::info() { return state_->trace.info; }
Notes& Builder::notes() { return state_->trace.notes; }
void Builder::set_device_properties(DeviceProperties properties) {
  state_->properties.push_back(std::move(properties));
}
void Builder::set_place_name(PlaceName name) { state_->names.push_back(std::move(name)); }

void Builder::State::renumber_places(Piece& piece) {
  Fragment& from = piece.fragment;
  Renumbering& to = piece.renumber;
  for (ProcessId id : from.processes.ids().ids())
    to.processes.push_back(places.process(from.strings[from.processes.key[id]]));
  for (ThreadId id : from.threads.ids().ids()) {
    const StringId pid = from.processes.key[from.threads.process[id]];
    to.threads.push_back(places.thread(from.strings[pid], from.strings[from.threads.key[id]]));
  }
  for (DeviceId id : from.devices.ids().ids()) to.devices.push_back(places.device(from.devices.number[id]));
  for (StreamId id : from.streams.ids().ids()) {
    const std::int64_t number = from.devices.number[from.streams.device[id]];
    to.streams.push_back(places.stream(number, from.strings[from.streams.key[id]]));
  }
}

void Builder::add(Fragment&& fragment) {
  State& state = *state_;
  Piece piece{std::move(fragment), {}};
  Fragment& from = piece.fragment;
  piece.renumber.strings.reserve(from.strings.size());
  for (std::uint32_t i = 0; i < from.strings.size(); ++i) {
    piece.renumber.strings.push_back(state.trace.strings.intern(from.strings[StringId{i}]));
  }
  state.renumber_places(piece);
  piece.renumber.collective_base = state.collective_count;
  state.collective_count += static_cast<std::uint32_t>(from.collectives.size());
  state.trace.notes.merge(from.notes);
  state.trace.info.metadata_event_count += from.metadata_event_count;
  from.strings = StringPool();  // a thousand fragments must not keep a thousand pools
  state.pieces.push_back(std::move(piece));
}

// Moves the places into the trace, with devices in the order of their numbers.
void Builder::State::take_places() {
  for (const DeviceProperties& each : properties) {
    const DeviceId id = places.device(each.number);
    places.devices.memory_bytes[id] = each.memory_bytes;
    places.devices.sm_count[id] = each.sm_count;
    places.devices.compute_major[id] = each.compute_major;
    places.devices.compute_minor[id] = each.compute_minor;
    places.devices.name[id] = places.strings.intern(each.name);
  }
  auto text = [&](StringId id) { return trace.strings.intern(places.strings[id]); };
  for (ProcessId id : places.processes.ids().ids()) {
    trace.processes.push_back({.key = text(places.processes.key[id]), .name = {}, .labels = {}});
  }
  for (ThreadId id : places.threads.ids().ids()) {
    trace.threads.push_back({.process = places.threads.process[id], .key = text(places.threads.key[id]), .name = {}});
  }
  std::vector<DeviceId> by_number;
  for (DeviceId id : places.devices.ids().ids()) by_number.push_back(id);
  std::sort(by_number.begin(), by_number.end(),
            [&](DeviceId a, DeviceId b) { return places.devices.number[a] < places.devices.number[b]; });
  std::vector<DeviceId> final_device(by_number.size());
  for (DeviceId id : by_number) {
    Devices::Row row = places.devices.row(id);
    row.name = text(row.name);
    final_device[id.value] = trace.devices.push_back(row);
  }
  for (StreamId id : places.streams.ids().ids()) {
    const DeviceId device = final_device[places.streams.device[id].value];
    trace.streams.push_back({.device = device, .key = text(places.streams.key[id]), .name = {}});
  }
  for (Piece& piece : pieces) {
    for (DeviceId& device : piece.renumber.devices) device = final_device[device.value];
  }
}

// Metadata names rows by (pid, tid) alone, so a name goes to the host row and to the GPU row that answer to it.
void Builder::State::name_places() {
  std::map<std::pair<std::string_view, std::string_view>, const PlaceName*> by_key;
  std::map<std::string_view, const PlaceName*> process_names;
  std::map<std::string_view, const PlaceName*> process_labels;
  for (const PlaceName& each : names) {
    if (!each.tid.empty()) by_key[{each.pid, each.tid}] = &each;
    if (each.tid.empty()) (each.is_labels ? process_labels : process_names)[each.pid] = &each;
  }
  for (ProcessId id : trace.processes.ids().ids()) {
    const std::string_view pid = trace.text(trace.processes.key[id]);
    if (auto at = process_names.find(pid); at != process_names.end())
      trace.processes.name[id] = trace.strings.intern(at->second->name);
    if (auto at = process_labels.find(pid); at != process_labels.end())
      trace.processes.labels[id] = trace.strings.intern(at->second->name);
  }
  for (ThreadId id : trace.threads.ids().ids()) {
    const std::string_view pid = trace.text(trace.processes.key[trace.threads.process[id]]);
    if (auto at = by_key.find({pid, trace.text(trace.threads.key[id])}); at != by_key.end())
      trace.threads.name[id] = trace.strings.intern(at->second->name);
  }
  for (StreamId id : trace.streams.ids().ids()) {
    const std::string pid = std::to_string(trace.devices.number[trace.streams.device[id]]);
    if (auto at = by_key.find({pid, trace.text(trace.streams.key[id])}); at != by_key.end())
      trace.streams.name[id] = trace.strings.intern(at->second->name);
  }
}

namespace {

template <class Table>
Placement place_by_thread(const std::vector<Piece>& pieces, Table Fragment::*table, std::size_t threads) {
  return place_rows(
      pieces, table, threads,
      [](const Renumbering& renumber, const Table& rows, typename Table::Id id) {
        return std::size_t{renumber(rows.thread[id]).value};
      },
      [](const Table& rows, typename Table::Id id) {
        return SortKey{rows.start_ns[id], -rows.end_ns[id]};
      });
}

template <class Table>
Placement place_by_device(const std::vector<Piece>& pieces, Table Fragment::*table, std::size_t devices) {
  return place_rows(
      pieces, table, devices,
      [](const Renumbering& renumber, const Table& rows, typename Table::Id id) {
        return std::size_t{renumber(rows.device[id]).value};
      },
      [](const Table& rows, typename Table::Id id) {
        return SortKey{rows.start_ns[id], rows.end_ns[id]};
      });
}

template <class OwnerId, class RowId>
void set_ranges(const Placement& placement, Column<OwnerId, IdRange<RowId>>& ranges) {
  for (std::size_t i = 0; i + 1 < placement.bucket_begin.size(); ++i) {
    ranges.push_back({placement.bucket_begin[i], placement.bucket_begin[i + 1]});
  }
}

// Numbers collectives in the order of the GPU events that carry them, not of the file, so that the same recording gives
// the same table in whatever order its events were written.
void order_collectives(Trace& trace) {
  if (trace.collectives.empty()) return;
  Collectives ordered;
  std::vector<CollectiveId> renumbered(trace.collectives.size());
  auto take = [&](CollectiveId id) {
    if (!renumbered[id.value].has_value()) renumbered[id.value] = ordered.push_back(trace.collectives.row(id));
    return renumbered[id.value];
  };
  for (CollectiveId& id : trace.gpu_events.collective.raw()) {
    if (id.has_value()) id = take(id);
  }
  for (const CollectiveId id : trace.collectives.ids().ids()) take(id);
  trace.collectives = std::move(ordered);
}

}  // namespace

Trace Builder::finish(unsigned threads) {
  State& state = *state_;
  Trace& trace = state.trace;
  std::vector<Piece>& pieces = state.pieces;
  state.take_places();
  state.name_places();

  const std::size_t thread_count = trace.threads.size();
  const std::size_t device_count = trace.devices.size();
  Placement ops, spans, frames, calls, gpu_events, gpu_spans, memory;
  const std::function<void()> placing[] = {
      [&] { ops = place_by_thread(pieces, &Fragment::ops, thread_count); },
      [&] { calls = place_by_thread(pieces, &Fragment::calls, thread_count); },
      [&] { frames = place_by_thread(pieces, &Fragment::frames, thread_count); },
      [&] { gpu_events = place_by_device(pieces, &Fragment::gpu_events, device_count); },
      [&] { spans = place_by_thread(pieces, &Fragment::spans, thread_count); },
      [&] { gpu_spans = place_by_device(pieces, &Fragment::gpu_spans, device_count); },
      [&] {
        memory = place_rows(
            pieces, &Fragment::memory_events, 1,
            [](const Renumbering&, const MemoryEvents&, MemoryEventId) { return std::size_t{0}; },
            [](const MemoryEvents& rows, MemoryEventId id) {
              return SortKey{rows.time_ns[id], 0};
            });
      },
  };
  parallel_for(std::size(placing), threads, [&](std::size_t i) { placing[i](); });
  set_ranges(ops, trace.ops_of_thread);
  set_ranges(spans, trace.spans_of_thread);
  set_ranges(frames, trace.frames_of_thread);
  set_ranges(calls, trace.calls_of_thread);
  set_ranges(gpu_events, trace.gpu_events_of_device);

  std::vector<std::function<void()>> jobs;
  add_scatter_jobs(pieces, &Fragment::ops, trace.ops, &ops, jobs);
  add_scatter_jobs(pieces, &Fragment::calls, trace.calls, &calls, jobs);
  add_scatter_jobs(pieces, &Fragment::frames, trace.frames, &frames, jobs);
  add_scatter_jobs(pieces, &Fragment::gpu_events, trace.gpu_events, &gpu_events, jobs);
  add_scatter_jobs(pieces, &Fragment::spans, trace.spans, &spans, jobs);
  add_scatter_jobs(pieces, &Fragment::gpu_spans, trace.gpu_spans, &gpu_spans, jobs);
  add_scatter_jobs(pieces, &Fragment::memory_events, trace.memory_events, &memory, jobs);
  add_scatter_jobs<Collectives>(pieces, &Fragment::collectives, trace.collectives, nullptr, jobs);
  add_scatter_jobs<Flows>(pieces, &Fragment::flows, trace.flows, nullptr, jobs);
  add_scatter_jobs<Counters>(pieces, &Fragment::counters, trace.counters, nullptr, jobs);
  add_scatter_jobs<OtherEvents>(pieces, &Fragment::other_events, trace.other_events, nullptr, jobs);
  parallel_for(jobs.size(), threads, [&](std::size_t i) { jobs[i](); });
  pieces.clear();
  order_collectives(trace);

  trace.info.event_count = trace.ops.size() + trace.spans.size() + trace.frames.size() + trace.calls.size() +
                           trace.gpu_events.size() + trace.gpu_spans.size() + trace.memory_events.size() +
                           trace.flows.size() + trace.counters.size() + trace.other_events.size();
  link_trace(trace, threads);
  Trace done = std::move(trace);
  state_ = std::make_unique<State>();
  return done;
}

}  // namespace stepscope

// The order of the rows of threads is decided here, before any of them has events: viewers show the main thread first.
#include "session/build_trace.h"

#include <algorithm>
#include <map>
#include <string>

#include "session/device_rows.h"
#include "session/host_rows.h"
#include "trace/builder.h"
#include "trace/producers.h"

namespace stepscope {
namespace {

constexpr DurationNs kNsPerDay = 86'400'000'000'000;

// The kernel gives a process's first thread the number of the process; it comes first, the others by number.
struct MainFirst {
  std::int64_t process_id;
  bool operator()(std::int64_t a, std::int64_t b) const {
    return (a == process_id) != (b == process_id) ? a == process_id : a < b;
  }
};

using ThreadNames = std::map<std::int64_t, std::string, MainFirst>;

ThreadNames collect_threads(const CycleRecords& records, std::int64_t process_id) {
  ThreadNames names(MainFirst{process_id});
  for (const SessionStep& step : records.steps) names.try_emplace(step.opened_by);
  for (const DeviceCall& call : records.device.calls) names.try_emplace(call.thread_id);
  for (const ThreadRecords& thread : records.host.threads) names[thread.thread_id] = thread.thread_name;
  return names;
}

void declare_places(const ThreadNames& threads, const RunIdentity& identity, Builder& builder) {
  const std::string pid = std::to_string(identity.process_id);
  Fragment places;
  places.process(pid);
  for (const auto& [id, name] : threads) {
    const std::string tid = std::to_string(id);
    places.thread(pid, tid);
    builder.set_place_name({.pid = pid, .tid = tid, .name = name});
  }
  builder.add(std::move(places));
  builder.set_place_name({.pid = pid, .tid = {}, .name = identity.process_name});
  builder.set_place_name({.pid = pid, .tid = {}, .name = "CPU", .is_labels = true});
}

void fill_info(TraceInfo& info, TimeNs base_ns, const RunIdentity& identity, const TraceFlags& flags) {
  info.producer = kSessionProducer;
  info.base_ns = base_ns;
  info.rank = identity.rank;
  info.world_size = identity.world_size;
  info.host_name = identity.host_name;
  info.record_shapes = flags.record_shapes;
  info.profile_memory = flags.profile_memory;
  info.with_stack = flags.with_stack;
  info.with_flops = flags.with_flops;
}

void add_dropped_notes(const CycleRecords& records, Notes& notes) {
  std::uint64_t of_host = 0;
  for (const ThreadRecords& thread : records.host.threads) of_host += thread.dropped_count;
  const std::uint64_t of_device = records.device.dropped_count;
  if (of_host > 0) {
    notes.add(NoteKind::kRecordsDropped, NoteSeverity::kLost, 0, "the recorder's memory (max_bytes) was full", of_host);
  }
  if (of_device > 0) {
    notes.add(NoteKind::kRecordsDropped, NoteSeverity::kLost, 0, "the source of GPU records lost some", of_device);
  }
}

// The start of the UTC day.
TimeNs base_of(TimeNs time_ns) { return time_ns - ((time_ns % kNsPerDay) + kNsPerDay) % kNsPerDay; }

}  // namespace

BuiltTrace build_trace(CycleRecords records, const RunIdentity& identity, const TraceFlags& flags) {
  Builder builder;
  const TimeNs base_ns = base_of(records.host.start_ns);
  fill_info(builder.info(), base_ns, identity, flags);
  declare_places(collect_threads(records, identity.process_id), identity, builder);
  add_dropped_notes(records, builder.notes());
  add_step_marks(records.steps, identity.process_id, base_ns, builder);
  BuiltTrace built;
  const HostTotals host = add_host_rows(std::move(records.host.threads), identity.process_id, base_ns, builder);
  built.open_span_count = records.host.open_span_count + host.async_without_end_count;
  built.flops = host.flops;
  add_device_rows(records.device, identity.process_id, base_ns, builder);
  built.trace = builder.finish(1);  // the program's own threads need the cores
  number_operators(built.trace);
  return built;
}

}  // namespace stepscope

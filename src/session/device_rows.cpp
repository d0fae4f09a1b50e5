// Calls and GPU events find each other by correlation; the arrows (`ac2g` flows) are for viewers, which draw only what
// the file holds.
//
// An arrow needs both its ends: one to a call that was not recorded (it began before the recording) is left out, since
// a viewer would draw it from some other row.
#include "session/device_rows.h"

#include <algorithm>
#include <unordered_set>

namespace stepscope {
namespace {

constexpr std::string_view kFlowName = "ac2g";  // asynchronous CPU to GPU: PyTorch's name

GpuEventKind kind_of(DeviceWorkKind kind) {
  switch (kind) {
    case DeviceWorkKind::kKernel:
      return GpuEventKind::kKernel;
    case DeviceWorkKind::kCopy:
      return GpuEventKind::kCopy;
    case DeviceWorkKind::kSet:
      return GpuEventKind::kSet;
  }
  return GpuEventKind::kKernel;
}

class DeviceRows {
 public:
  DeviceRows(std::int64_t process_id, TimeNs base_ns, Fragment& fragment)
      : pid_(std::to_string(process_id)), base_ns_(base_ns), fragment_(fragment) {
    flow_name_ = fragment.strings.intern(kFlowName);
  }

  void add(const DeviceRecording& recording) {
    std::unordered_set<std::int64_t> launched;
    for (const DeviceWork& work : recording.work) {
      if (work.correlation.has_value()) launched.insert(work.correlation.value());
    }
    std::unordered_set<std::int64_t> called;
    for (const DeviceCall& call : recording.calls) {
      add_call(call);
      const bool is_new = called.insert(call.correlation).second;
      if (is_new && launched.contains(call.correlation)) {
        add_flow(call.start_ns, call.correlation, pid_, std::to_string(call.thread_id), 's');
      }
    }
    for (const DeviceWork& work : recording.work) {
      add_work(work);
      if (work.correlation.has_value() && called.contains(work.correlation.value())) {
        add_flow(work.start_ns, work.correlation.value(), std::to_string(work.device), std::to_string(work.stream),
                 'f');
      }
    }
  }

 private:
  void add_call(const DeviceCall& call) {
    Calls::Row row;
    row.start_ns = call.start_ns - base_ns_;
    row.end_ns = std::max(call.start_ns, call.end_ns) - base_ns_;
    row.thread = fragment_.thread(pid_, std::to_string(call.thread_id));
    row.name = fragment_.strings.intern(call.name);
    row.correlation = call.correlation;
    row.file_order = next_order_++;
    fragment_.calls.push_back(row);
  }

  void add_work(const DeviceWork& work) {
    GpuEvents::Row row;
    row.start_ns = work.start_ns - base_ns_;
    row.end_ns = std::max(work.start_ns, work.end_ns) - base_ns_;
    row.fault = work.end_ns < work.start_ns ? TimeFault::kBadDuration : TimeFault::kNone;
    row.stream = fragment_.stream(work.device, std::to_string(work.stream));
    row.device = fragment_.streams.device[row.stream];
    row.name = fragment_.strings.intern(work.name);
    row.kind = kind_of(work.kind);
    row.correlation = work.correlation;
    row.bytes = work.bytes;
    row.grid_x = work.grid[0];
    row.grid_y = work.grid[1];
    row.grid_z = work.grid[2];
    row.block_x = work.block[0];
    row.block_y = work.block[1];
    row.block_z = work.block[2];
    row.registers_count = work.registers_count;
    row.shared_bytes = work.shared_bytes;
    row.occupancy_percent = -1;
    row.file_order = next_order_++;
    fragment_.gpu_events.push_back(row);
  }

  void add_flow(TimeNs time_ns, std::int64_t id, std::string_view process, std::string_view thread, char phase) {
    Flows::Row row;
    row.time_ns = time_ns - base_ns_;
    row.id = static_cast<std::uint64_t>(id);
    row.category = flow_name_;
    row.name = flow_name_;
    row.process_key = fragment_.strings.intern(process);
    row.thread_key = fragment_.strings.intern(thread);
    row.phase = phase;
    fragment_.flows.push_back(row);
  }

  std::string pid_;
  TimeNs base_ns_;
  Fragment& fragment_;
  StringId flow_name_;
  std::uint64_t next_order_ = 0;
};

}  // namespace

void add_device_rows(const DeviceRecording& recording, std::int64_t process_id, TimeNs base_ns, Builder& builder) {
  for (const DeviceInfo& device : recording.devices) {
    builder.set_device_properties({.number = device.number,
                                   .name = device.name,
                                   .memory_bytes = device.memory_bytes,
                                   .sm_count = device.sm_count,
                                   .compute_major = device.compute_major,
                                   .compute_minor = device.compute_minor});
  }
  Fragment fragment;
  DeviceRows(process_id, base_ns, fragment).add(recording);
  builder.add(std::move(fragment));
}

void number_operators(Trace& trace) {
  for (const OpId op : trace.ops.ids().ids()) trace.ops.external_id[op] = std::int64_t{op.value} + 1;
  for (const CallId call : trace.calls.ids().ids()) {
    const OpId op = trace.calls.op[call];
    if (!op.has_value()) continue;
    trace.calls.external_id[call] = trace.ops.external_id[op];
    trace.calls.op_by_external_id[call] = op;
  }
  for (const GpuEventId event : trace.gpu_events.ids().ids()) {
    const OpId op = trace.gpu_events.op[event];
    if (op.has_value()) trace.gpu_events.external_id[event] = trace.ops.external_id[op];
  }
}

}  // namespace stepscope

// Levels by device from the totals that the allocator wrote into each event; nothing is summed up here, since events
// from before the recording are missing.
//
// Events happen on the host's clock, so a step's peak is taken over its host time, until the next step begins. It
// includes the level that the step inherits: a step without events still holds memory.
#include "analyze/memory_levels.h"

#include <limits>
#include <map>
#include <utility>

#include "trace/memory_counters.h"

namespace stepscope {
namespace {

constexpr std::int32_t kCpuDevice = 0;  // c10::DeviceType::CPU
// No host has so many; a file that names more is damaged, and each costs two numbers a step.
constexpr std::size_t kMaxDevices = 256;

void raise(std::optional<MemoryPeak>& peak, std::int64_t bytes, TimeNs time) {
  if (!peak || bytes > peak->bytes) peak = MemoryPeak{bytes, time};
}

void raise(std::optional<std::int64_t>& peak, const std::optional<std::int64_t>& bytes) {
  if (bytes && (!peak || *bytes > *peak)) peak = bytes;
}

// One device, fed in order of time.
class Level {
 public:
  Level(std::int64_t device_number, const Steps& steps) : steps_(steps) {
    memory_.device_number = device_number;
    memory_.allocated_peak_by_step_bytes.resize(steps.steps.size());
    memory_.reserved_peak_by_step_bytes.resize(steps.steps.size());
  }

  void add(const MemoryEvents& events, MemoryEventId id) {
    enter_steps_until(events.time_ns[id]);
    const MaybeInt allocated = events.total_allocated_bytes[id];
    const MaybeInt reserved = events.total_reserved_bytes[id];
    if (allocated.has_value()) {
      memory_.allocated_last_bytes = allocated.value();
      raise(memory_.allocated_peak, allocated.value(), events.time_ns[id]);
    }
    if (reserved.has_value()) {
      memory_.reserved_last_bytes = reserved.value();
      raise(memory_.reserved_peak, reserved.value(), events.time_ns[id]);
    }
    raise_in_step(events.time_ns[id]);
  }

  void add_process(MemoryCounterKind kind, std::int64_t bytes, TimeNs time) {
    if (kind == MemoryCounterKind::kDevice) {
      memory_.in_use_last_bytes = bytes;
      return;
    }
    memory_.process_last_bytes = bytes;
    raise(memory_.process_peak, bytes, time);
  }

  DeviceMemoryLevels finish() {
    enter_steps_until(std::numeric_limits<TimeNs>::max());
    return std::move(memory_);
  }

 private:
  // Each step that begins by `time` inherits the level.
  void enter_steps_until(TimeNs time) {
    for (; next_step_ < steps_.steps.size() && steps_.steps[next_step_].host.start_ns <= time; ++next_step_) {
      raise(memory_.allocated_peak_by_step_bytes[next_step_], memory_.allocated_last_bytes);
      raise(memory_.reserved_peak_by_step_bytes[next_step_], memory_.reserved_last_bytes);
      in_step_ = true;
    }
  }
  void raise_in_step(TimeNs time) {
    if (!in_step_) return;
    const std::size_t step = next_step_ - 1;
    // Only past the end of the host's span is there a question; it is then asked once.
    if (time >= steps_.steps[step].host.end_ns) in_step_ = steps_.find_by_host_time(time) == step;
    if (!in_step_) return;
    raise(memory_.allocated_peak_by_step_bytes[step], memory_.allocated_last_bytes);
    raise(memory_.reserved_peak_by_step_bytes[step], memory_.reserved_last_bytes);
  }

  const Steps& steps_;
  DeviceMemoryLevels memory_;
  std::size_t next_step_ = 0;
  bool in_step_ = false;
};

// Counters stand in the order of the file, which is that of their times.
void add_counters(const Trace& trace, const Steps& steps, std::map<std::int64_t, Level>& devices) {
  constexpr double kMostBytes = 1e18;
  for (const CounterId id : trace.counters.ids().ids()) {
    const auto counter = find_memory_counter(trace.text(trace.counters.name[id]));
    const double value = trace.counters.value[id];
    if (!counter || !(value >= 0 && value < kMostBytes)) continue;
    if (devices.size() == kMaxDevices && !devices.contains(counter->device_number)) continue;
    Level& level = devices.try_emplace(counter->device_number, counter->device_number, steps).first->second;
    level.add_process(counter->kind, static_cast<std::int64_t>(value), trace.counters.time_ns[id]);
  }
}

}  // namespace

MemoryLevels compute_memory_levels(const Trace& trace, const Steps& steps) {
  const MemoryEvents& events = trace.memory_events;
  MemoryLevels levels;
  levels.recorded = !events.empty();
  std::map<std::int64_t, Level> devices;
  for (const MemoryEventId id : events.ids().ids()) {
    if (events.device_type[id] == kCpuDevice || events.device_number[id] < 0) {
      ++levels.cpu_event_count;
      continue;
    }
    const std::int64_t number = events.device_number[id];
    if (devices.size() == kMaxDevices && !devices.contains(number)) continue;
    devices.try_emplace(number, number, steps).first->second.add(events, id);
  }
  add_counters(trace, steps, devices);
  levels.recorded = levels.recorded || !devices.empty();
  for (auto& [number, level] : devices) levels.devices.push_back(level.finish());
  return levels;
}

}  // namespace stepscope

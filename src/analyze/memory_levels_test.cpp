// Peaks by device and step; the CPU is no GPU.
#include "analyze/memory_levels.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/trace_from_text.h"
#include "trace/memory_counters.h"

namespace stepscope {
namespace {

void add(Trace& trace, TimeNs time, std::int32_t type, std::int32_t device, std::int64_t allocated) {
  MemoryEvents::Row row;
  row.time_ns = time;
  row.device_type = type;
  row.device_number = device;
  row.total_allocated_bytes = allocated;
  row.total_reserved_bytes = 1000;
  trace.memory_events.push_back(row);
}

MemoryLevels levels_of(const Trace& trace) {
  const GpuTimeline timeline = compute_gpu_timeline(trace);
  return compute_memory_levels(trace, compute_steps(trace, timeline, compute_launches(trace, timeline), {}));
}

TEST(MemoryLevels, PeaksByStepIncludeWhatIsInherited) {
  Trace trace = trace_from_text(R"(
    step           [4       ][5       ][6       ]
  )");
  add(trace, 20'000, 1, 0, 700);
  add(trace, 60'000, 1, 0, 300);
  add(trace, 100'000, 1, 0, 900);
  add(trace, 120'000, 0, -1, 5000);
  add(trace, 140'000, 1, 0, 400);
  const MemoryLevels levels = levels_of(trace);
  EXPECT_TRUE(levels.recorded);
  EXPECT_EQ(levels.cpu_event_count, 1);
  ASSERT_EQ(levels.devices.size(), 1U);
  const DeviceMemoryLevels& device = levels.devices[0];
  EXPECT_EQ(device.allocated_peak->bytes, 900);
  EXPECT_EQ(device.allocated_peak->time_ns, 100'000);
  EXPECT_EQ(device.allocated_last_bytes, 400);
  EXPECT_EQ(device.reserved_peak->bytes, 1000);
  using Peaks = std::vector<std::optional<std::int64_t>>;
  EXPECT_EQ(device.allocated_peak_by_step_bytes, (Peaks{900, 400, 400}));
}

TEST(MemoryLevels, DevicesAreApartAndInOrder) {
  Trace trace = trace_from_text(R"(
    step      [4       ]
  )");
  add(trace, 10'000, 1, 3, 30);
  add(trace, 20'000, 1, 1, 10);
  const MemoryLevels levels = levels_of(trace);
  ASSERT_EQ(levels.devices.size(), 2U);
  EXPECT_EQ(levels.devices[0].device_number, 1);
  EXPECT_EQ(levels.devices[1].allocated_peak->bytes, 30);
}

TEST(MemoryLevels, NothingRecorded) { EXPECT_FALSE(levels_of(Trace()).recorded); }

TEST(MemoryLevels, TheProcessIsMoreThanItsAllocator) {
  Trace trace = trace_from_text(R"(
    step           [4       ][5       ][6       ]
  )");
  add(trace, 20'000, 1, 0, 700);
  const auto counter = [&](TimeNs time, const std::string& name, double value) {
    Counters::Row row;
    row.time_ns = time;
    row.name = trace.strings.intern(name);
    row.value = value;
    trace.counters.push_back(row);
  };
  counter(10'000, process_memory_counter(0), 1500);
  counter(110'000, process_memory_counter(0), 1400);
  counter(110'000, device_memory_counter(0), 9000);
  counter(110'000, device_memory_counter(3), 5000);
  counter(110'000, "queue", 7);
  counter(110'000, process_memory_counter(0), std::numeric_limits<double>::quiet_NaN());
  const MemoryLevels levels = levels_of(trace);
  ASSERT_EQ(levels.devices.size(), 2U);
  EXPECT_EQ(levels.devices[0].process_peak->bytes, 1500);
  EXPECT_EQ(levels.devices[0].process_last_bytes, 1400);
  EXPECT_EQ(levels.devices[0].in_use_last_bytes, 9000);
  EXPECT_EQ(levels.devices[0].reserved_last_bytes, 1000);
  EXPECT_EQ(levels.devices[1].device_number, 3);
  EXPECT_FALSE(levels.devices[1].process_last_bytes.has_value());
  EXPECT_EQ(levels.devices[1].in_use_last_bytes, 5000);
}

}  // namespace
}  // namespace stepscope

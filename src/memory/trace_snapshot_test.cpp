// Traces made row by row, and the memory facts of the snapshots they become.
#include "memory/trace_snapshot.h"

#include <gtest/gtest.h>

#include "memory/allocator_stats.h"
#include "memory/facts.h"
#include "trace/builder.h"

namespace stepscope {
namespace {

constexpr std::int64_t kKiB = 1024;

class TraceSnapshot : public testing::Test {
 protected:
  TraceSnapshot() { thread = fragment.thread("1", "1"); }
  void frame(TimeNs start, TimeNs end, const char* name) {
    Frames::Row row;
    row.start_ns = start, row.end_ns = end, row.thread = thread, row.name = fragment.strings.intern(name);
    fragment.frames.push_back(row);
  }
  void op(TimeNs start, TimeNs end, const char* name) {
    Ops::Row row;
    row.start_ns = start, row.end_ns = end, row.thread = thread, row.name = fragment.strings.intern(name);
    fragment.ops.push_back(row);
  }
  void call(TimeNs start, TimeNs end, const char* name) {
    Calls::Row row;
    row.start_ns = start, row.end_ns = end, row.thread = thread, row.name = fragment.strings.intern(name);
    fragment.calls.push_back(row);
  }
  void span(TimeNs start, TimeNs end, const char* name) {
    Spans::Row row;
    row.start_ns = start, row.end_ns = end, row.thread = thread, row.name = fragment.strings.intern(name);
    fragment.spans.push_back(row);
  }
  void memory(TimeNs time, std::int64_t address, std::int64_t bytes, MaybeInt allocated = {}, MaybeInt reserved = {},
              int device = 0, int type = 1) {
    MemoryEvents::Row row;
    row.time_ns = time, row.thread = thread, row.address = address, row.bytes = bytes;
    row.total_allocated_bytes = allocated, row.total_reserved_bytes = reserved;
    row.device_type = type, row.device_number = device;
    fragment.memory_events.push_back(row);
  }
  Result<MemorySnapshot> make() {
    Builder builder;
    builder.info().source = "run.json";
    builder.info().base_ns = 5'000'000'000;
    builder.add(std::move(fragment));
    trace = builder.finish(1);
    return snapshot_from_trace(trace);
  }
  // Start, peak, end of a level.
  static std::string level(const DeviceMemoryFacts& device, MemoryLevelKind kind) {
    const LevelFacts& facts = device.levels[static_cast<std::size_t>(kind)];
    return std::to_string(facts.start_bytes) + " " + std::to_string(facts.peak_bytes) + " " +
           std::to_string(facts.end_bytes);
  }

  Fragment fragment;
  ThreadId thread;
  Trace trace;
};

TEST_F(TraceSnapshot, LevelsAreThoseOfTheTotals) {
  // 1 KiB is older and stays, 2 KiB is older and freed.
  memory(1'000'000, 0x2000, 4 * kKiB, 7 * kKiB, 2048 * kKiB);
  memory(2'000'000, 0x9000, -2 * kKiB, 5 * kKiB, 2048 * kKiB);
  memory(3'000'000, 0x4000, 8 * kKiB, 13 * kKiB, 4096 * kKiB);
  memory(4'000'000, 0x4000, -8 * kKiB, 5 * kKiB, 4096 * kKiB);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  ASSERT_EQ(facts.devices.size(), 1U);
  const DeviceMemoryFacts& device = facts.devices[facts.main_device];
  EXPECT_EQ(level(device, MemoryLevelKind::kAllocated), "3072 13312 5120");
  EXPECT_EQ(level(device, MemoryLevelKind::kReserved), "2097152 4194304 4194304");
  EXPECT_EQ(device.contradiction_count, 0);
  EXPECT_FALSE(device.is_whole_life);
  EXPECT_EQ(snapshot->info.format, kTraceSnapshotFormat);
  EXPECT_EQ(snapshot->entries.time_us[SnapshotEntryId(0)], MaybeInt(5'001'000));
}

TEST_F(TraceSnapshot, AFreeThatTheTotalsLeaveNoRoomForIsLeftOut) {
  // 64 KiB are older: 50 of them are freed; 500 cannot be.
  memory(1'000'000, 0x1000, 36 * kKiB, 100 * kKiB, 1024 * kKiB);
  memory(2'000'000, 0x2000, 200 * kKiB, 300 * kKiB, 1024 * kKiB);
  memory(3'000'000, 0x3000, -50 * kKiB, 250 * kKiB, 1024 * kKiB);
  memory(4'000'000, 0x4000, 650 * kKiB, 900 * kKiB, 1024 * kKiB);
  memory(5'000'000, 0x5000, -500 * kKiB, 400 * kKiB, 1024 * kKiB);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot);
  ASSERT_TRUE(snapshot->notes.lost_anything());
  EXPECT_NE(snapshot->notes.all()[0].example.find("409600 bytes are held at the end"), std::string::npos);
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  const DeviceMemoryFacts& device = facts.devices[SnapshotDeviceId(0)];
  EXPECT_EQ(device.levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)].start_bytes, 64 * kKiB);
  EXPECT_EQ(device.levels[static_cast<std::size_t>(MemoryLevelKind::kAllocated)].peak_bytes, 900 * kKiB)
      << "as the totals say";
}

TEST_F(TraceSnapshot, CallsOfCudaHoldWhatTheyAllocate) {
  memory(1'000, 0x2000, 1024 * kKiB, 1024 * kKiB, 1024 * kKiB);
  memory(2'000, 0x400000, 512 * kKiB, 1536 * kKiB, 1536 * kKiB);
  memory(3'000, 0x2000, -1024 * kKiB, 512 * kKiB, 512 * kKiB);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  const DeviceMemoryFacts& device = facts.devices[facts.main_device];
  EXPECT_EQ(level(device, MemoryLevelKind::kRequested), "0 1572864 524288");
  EXPECT_EQ(level(device, MemoryLevelKind::kReserved), "0 1572864 524288");
  EXPECT_TRUE(device.is_whole_life);
  EXPECT_EQ(device.cuda_malloc_count, 2);
  EXPECT_EQ(device.cuda_free_count, 1);
}

TEST_F(TraceSnapshot, WithoutTotalsTheKnownAllocationsAreTheLevel) {
  memory(500, 0x8000, 0, 900 * kKiB, 900 * kKiB);  // a level that PyTorch told: not of these allocations
  memory(1'000, 0x2000, 64 * kKiB);
  memory(2'000, 0x3000, 64 * kKiB);
  memory(3'000, 0x2000, -64 * kKiB);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  const DeviceMemoryFacts& device = facts.devices[facts.main_device];
  EXPECT_EQ(level(device, MemoryLevelKind::kRequested), "0 131072 65536");
  EXPECT_EQ(level(device, MemoryLevelKind::kReserved), "0 131072 65536");
}

TEST_F(TraceSnapshot, TheLineIsTheOneOpenAtTheAllocation) {
  frame(0, 100'000, "train.py(9): main");
  frame(10'000, 20'000, "train.py(4): forward");
  frame(12'000, 19'000, "torch/nn/modules/linear.py(114): forward");
  op(13'000, 18'000, "aten::linear");
  op(14'000, 17'000, "aten::empty");
  memory(15'000, 0x1000, kKiB);
  memory(50'000, 0x2000, 2 * kKiB);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  const auto live = find_live(*snapshot, facts, facts.main_device, snapshot->devices.entries[facts.main_device].size());
  const auto lines = group_live(*snapshot, facts, live, LiveGrouping::kLine);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].name, "train.py:9 main");
  EXPECT_EQ(lines[1].name, "train.py:4 forward");
  const auto stacks = group_live(*snapshot, facts, live, LiveGrouping::kStack);
  EXPECT_NE(stacks[1].name.find("aten::linear"), std::string::npos) << stacks[1].name;
  EXPECT_EQ(stacks[1].name.find("aten::empty"), std::string::npos) << "who asked, not who allocates";
}

TEST_F(TraceSnapshot, WithoutPythonTheOperatorOrTheCallIsTheName) {
  op(10'000, 20'000, "aten::mm");
  op(12'000, 14'000, "aten::empty_strided");
  memory(13'000, 0x1000, kKiB);
  call(30'000, 40'000, "cudaMalloc");
  memory(40'000, 0x9000, kKiB);  // in its last nanosecond
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  const auto live = find_live(*snapshot, facts, facts.main_device, snapshot->devices.entries[facts.main_device].size());
  const auto lines = group_live(*snapshot, facts, live, LiveGrouping::kLine);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].name + "|" + lines[1].name, "aten::mm|cudaMalloc");
}

TEST_F(TraceSnapshot, StepsAreItsSpans) {
  span(0, 10'000'000, "ProfilerStep#7");
  span(10'000'000, 20'000'000, "ProfilerStep#8");
  span(12'000'000, 12'000'000, "of no length");
  memory(5'000'000, 0x1000, kKiB, 10 * kKiB, 2048 * kKiB);
  memory(15'000'000, 0x2000, 3 * kKiB, 13 * kKiB, 2048 * kKiB);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  const MemorySteps& steps = facts.steps[facts.main_device];
  EXPECT_EQ(steps.numbers, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(steps.peak_bytes, (std::vector<std::int64_t>{10 * kKiB, 13 * kKiB}));
}

TEST_F(TraceSnapshot, HowManyAreOlderIsNotKnownOfASum) {
  // 100 KiB by the trace's own total, of which two allocations were seen; the rest was made before.
  span(0, 1'500'000, "ProfilerStep#7");
  span(1'500'000, 3'500'000, "ProfilerStep#8");
  span(3'500'000, 4'500'000, "ProfilerStep#9");
  memory(1'000'000, 0x1000, 8 * kKiB, 100 * kKiB, 2048 * kKiB);
  memory(2'000'000, 0x2000, 4 * kKiB, 104 * kKiB, 2048 * kKiB);
  memory(4'000'000, 0x3000, 2 * kKiB, 106 * kKiB, 2048 * kKiB);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  const SnapshotDeviceId device = facts.main_device;
  EXPECT_FALSE(facts.devices[device].older_count.has_value());
  const auto live = find_live(*snapshot, facts, device, snapshot->devices.entries[device].size());
  const auto groups = group_live(*snapshot, facts, live, LiveGrouping::kSpan);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].name, kOlderThanHistory);
  EXPECT_EQ(groups[0].bytes, 92 * kKiB);
  EXPECT_FALSE(groups[0].count.has_value());
  EXPECT_EQ(groups[1].count, MaybeInt{1});
  // Together with others of its group it is not known either.
  const auto all = group_live(*snapshot, facts, live, LiveGrouping::kDevice);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].count.has_value());
  EXPECT_FALSE(group_byte_time(*snapshot, facts, device, LiveGrouping::kDevice)[0].count.has_value());
  // It is held at both moments: their difference is of what changed, and known.
  const auto compared = compare_steps(*snapshot, facts, device, LiveGrouping::kDevice);
  ASSERT_TRUE(compared && compared->differences.size() == 1);
  EXPECT_EQ(compared->differences[0].count, MaybeInt{1});
  const auto grown = find_step_growth(*snapshot, facts, device, LiveGrouping::kDevice);
  ASSERT_EQ(grown.size(), 1U);
  EXPECT_EQ(grown[0].grown.bytes, 6 * kKiB);
  EXPECT_EQ(grown[0].grown.count, MaybeInt{2});
  const auto stats = compute_allocator_stats(*snapshot, facts, device);
  EXPECT_FALSE(stats.of(AllocatorMetric::kAllocation).current.has_value());
  EXPECT_FALSE(stats.of(AllocatorMetric::kActive).current.has_value());
  EXPECT_EQ(stats.of(AllocatorMetric::kAllocatedBytes).current, 106 * kKiB);
}

TEST_F(TraceSnapshot, EachGpuApartAndNeverTheHost) {
  memory(1'000, 0x1000, kKiB, {}, {}, 3);
  memory(2'000, 0x1000, kKiB, {}, {}, -1, 0);
  memory(3'000, 0x1000, 2 * kKiB, {}, {}, 1);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  ASSERT_EQ(snapshot->devices.size(), 2U);
  EXPECT_EQ(snapshot->devices.number[SnapshotDeviceId(0)], 1);
  EXPECT_EQ(snapshot->devices.number[SnapshotDeviceId(1)], 3);
}

TEST_F(TraceSnapshot, ATraceWithoutGpuMemorySaysSo) {
  EXPECT_EQ(make().error().message, "the trace has no memory events");
  fragment = Fragment();
  thread = fragment.thread("1", "1");
  memory(2'000, 0x1000, kKiB, {}, {}, -1, 0);
  EXPECT_EQ(make().error().code, ErrorCode::kNotFound);
}

// Damaged numbers: whatever they are, facts can be computed.
TEST_F(TraceSnapshot, AnyNumbersAreSurvived) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t numbers[] = {kLeast, kLeast + 1, -1, 0, 1, kMost - 1, kMost};
  TimeNs time = 0;
  for (const std::int64_t bytes : numbers) {
    for (const std::int64_t total : numbers) {
      ++time;
      memory(time, total, bytes, total, bytes, static_cast<int>(time % 300));
    }
  }
  for (int i = 0; i < 1000; ++i) memory(++time, i, numbers[i % 7], {}, {}, i);
  const auto snapshot = make();
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->devices.size(), 256U);
  const MemoryFacts facts = compute_memory_facts(*snapshot);
  EXPECT_EQ(facts.devices.size(), 256U);
}

}  // namespace
}  // namespace stepscope

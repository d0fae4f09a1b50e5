// What calls of CUDA and levels of allocators become: whose thread, which totals, which step.
#include "import/capture/memory_rows.h"

#include <gtest/gtest.h>

#include "import/capture/made_capture.h"
#include "trace/memory_counters.h"

namespace stepscope::capture_format {
namespace {

constexpr TimeNs kBase = 1'702'944'000'000'000'000;
constexpr std::int64_t kMiB = 1 << 20;

class MemoryRowsTest : public testing::Test {
 protected:
  MemoryRowsTest() {
    CaptureInfo info;
    info.process_id = 7;
    info.start_ns = kBase;
    info.records_memory = true;
    file.add(info);
  }
  void call(std::int64_t thread, TimeNs at, std::uint32_t correlation, const char* name) {
    WireCall made;
    made.thread_id = thread;
    made.start_ns = kBase + at;
    made.end_ns = kBase + at + 100;
    made.name = file.text(name);
    made.correlation = correlation;
    made.stack = file.stack({"/home/user/main.py:9:<module>", "/home/user/main.py:4:allocate"});
    file.add(made);
  }
  void memory(TimeNs at, std::uint32_t correlation, std::uint64_t address, std::int64_t bytes, int device = 0,
              WireMemoryKind kind = WireMemoryKind::kDevice) {
    WireMemory made;
    made.time_ns = kBase + at;
    made.source = WireMemorySource::kCuda;
    made.correlation = correlation;
    made.address = address;
    made.bytes = bytes;
    made.kind = kind;
    made.device_type = kind == WireMemoryKind::kPinned ? 0 : 1;
    made.device_number = kind == WireMemoryKind::kPinned ? -1 : device;
    file.add(made);
  }
  void level(TimeNs at, std::int64_t allocated, std::int64_t peak, std::int64_t reserved, std::int64_t reserved_peak) {
    WireMemoryLevel made;
    made.time_ns = kBase + at;
    made.thread_id = 5;
    made.allocated_bytes = allocated;
    made.allocated_peak_bytes = peak;
    made.reserved_bytes = reserved;
    made.reserved_peak_bytes = reserved_peak;
    file.add(made);
  }
  // "time thread device bytes total" of each row.
  std::string rows() {
    auto traces = read_bytes(file.whole());
    if (!traces) return traces.error().to_string();
    trace = std::move(traces->front());
    const MemoryEvents& events = trace.memory_events;
    std::string text;
    for (const MemoryEventId id : events.ids().ids()) {
      const auto total = [](MaybeInt bytes) { return bytes.has_value() ? std::to_string(bytes.value()) : "-"; };
      text += std::to_string(events.time_ns[id]) + " t" +
              std::string(trace.text(trace.threads.key[events.thread[id]])) + " d" +
              std::to_string(events.device_number[id]) + " " + std::to_string(events.bytes[id]) + " " +
              total(events.total_allocated_bytes[id]) + "/" + total(events.total_reserved_bytes[id]) + "\n";
    }
    return text;
  }

  MadeCapture file;
  Trace trace;
};

TEST_F(MemoryRowsTest, AnAllocationIsOfItsCallsThreadAndTotalsAreSummed) {
  memory(1'050, 1, 0x1000, 4 * kMiB);  // before its call: records come in any order
  call(11, 1'000, 1, "cudaMalloc");
  call(12, 2'000, 2, "cudaMallocAsync");
  memory(2'050, 2, 0x900000, 2 * kMiB);
  memory(2'060, 2, 0x50, 64, 1);  // another device has its own sum
  call(11, 3'000, 3, "cudaFree");
  memory(3'050, 3, 0x1000, -4 * kMiB);
  EXPECT_EQ(rows(),
            "1050 t11 d0 4194304 4194304/4194304\n"
            "2050 t12 d0 2097152 6291456/6291456\n"
            "2060 t12 d1 64 64/64\n"
            "3050 t11 d0 -4194304 2097152/2097152\n");
}

// The frames of the call hold at the time of its allocation: that is how a line is found.
TEST_F(MemoryRowsTest, TheStackOfTheCallIsOpenAtTheAllocation) {
  call(11, 1'000, 1, "cudaMalloc");
  memory(1'050, 1, 0x1000, 512);
  (void)rows();
  std::size_t open_count = 0;
  for (const FrameId id : trace.frames.ids().ids()) {
    open_count += trace.frames.start_ns[id] <= 1'050 && 1'050 < trace.frames.end_ns[id] ? 1 : 0;
  }
  EXPECT_EQ(open_count, 2U);
}

TEST_F(MemoryRowsTest, WhatIsFreedUnseenWasThereBefore) {
  memory(1'000, 0, 0x1000, 100);
  memory(2'000, 0, 0x9000, -1000);
  memory(3'000, 0, 0x1000, -100);
  EXPECT_EQ(rows(),
            "1000 t0 d0 100 1100/1100\n"
            "2000 t0 d0 -1000 100/100\n"
            "3000 t0 d0 -100 0/0\n");
}

TEST_F(MemoryRowsTest, ARangeMappedInPiecesIsUnmappedAtOnce) {
  memory(1'000, 0, 0x200000, 2 * kMiB, 0, WireMemoryKind::kMapped);
  memory(2'000, 0, 0x400000, 2 * kMiB, 0, WireMemoryKind::kMapped);
  memory(3'000, 0, 0x200000, -4 * kMiB, -1, WireMemoryKind::kMapped);
  EXPECT_EQ(rows(),
            "1000 t0 d0 2097152 2097152/2097152\n"
            "2000 t0 d0 2097152 4194304/4194304\n"
            "3000 t0 d0 -4194304 0/0\n");
}

TEST_F(MemoryRowsTest, AReleaseWithoutASizeHasThatOfItsAllocation) {
  memory(1'000, 0, 0x1000, 300);
  memory(2'000, 0, 0x1000, 0);
  EXPECT_EQ(rows(), "1000 t0 d0 300 300/300\n2000 t0 d0 -300 0/0\n");
}

TEST_F(MemoryRowsTest, AnAddressGivenOutTwiceLostItsRelease) {
  memory(1'000, 0, 0x1000, 300);
  memory(2'000, 0, 0x1000, 500);
  EXPECT_EQ(rows(), "1000 t0 d0 300 300/300\n2000 t0 d0 500 500/500\n");
}

TEST_F(MemoryRowsTest, PinnedMemoryIsTheHosts) {
  memory(1'000, 0, 0x1000, 300, -1, WireMemoryKind::kPinned);
  EXPECT_EQ(rows(), "1000 t0 d-1 300 -/-\n");
}

TEST_F(MemoryRowsTest, ALevelIsItsPeakAndThenItself) {
  level(5'000, 100, 900, 1000, 2000);
  level(9'000, 100, 950, 1000, 1000);
  EXPECT_EQ(rows(),
            "4999 t5 d0 0 900/2000\n"
            "5000 t5 d0 0 100/1000\n"
            "8999 t5 d0 0 950/1000\n"
            "9000 t5 d0 0 100/1000\n");
}

TEST_F(MemoryRowsTest, CallsOfCudaHaveNoTotalsBesideThoseOfPyTorch) {
  memory(1'000, 0, 0x1000, 300);
  level(5'000, 100, 900, 1000, 2000);
  EXPECT_EQ(rows(), "1000 t0 d0 300 -/-\n4999 t5 d0 0 900/2000\n5000 t5 d0 0 100/1000\n");
}

TEST_F(MemoryRowsTest, WhatTheProcessUsesIsACounter) {
  WireMemoryLevel used;
  used.time_ns = kBase + 77;
  used.device_number = 2;
  used.source = WireMemoryLevelSource::kNvml;
  used.process_bytes = 41'200'000'000;
  used.device_used_bytes = 42'000'000'000;
  file.add(used);
  EXPECT_EQ(rows(), "");
  ASSERT_EQ(trace.counters.size(), 2U);
  EXPECT_EQ(trace.counters.time_ns[CounterId(0)], 77);
  EXPECT_EQ(trace.counters.value[CounterId(0)], 41.2e9);
  const auto counter = find_memory_counter(trace.text(trace.counters.name[CounterId(0)]));
  ASSERT_TRUE(counter.has_value());
  EXPECT_EQ(counter->kind, MemoryCounterKind::kProcess);
  EXPECT_EQ(counter->device_number, 2);
  EXPECT_EQ(find_memory_counter(trace.text(trace.counters.name[CounterId(1)]))->kind, MemoryCounterKind::kDevice);
  EXPECT_FALSE(find_memory_counter("GPU 2 memory of the").has_value());
  EXPECT_FALSE(find_memory_counter("GPU x memory of the process").has_value());
}

// Damaged and hostile numbers: sums wrap, nothing crashes.
TEST_F(MemoryRowsTest, AnyNumbersAreSurvived) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 600; ++i) {
    memory(i, 0, 0xFFFF'FFFF'FFFF'FF00U + static_cast<unsigned>(i), i % 2 == 0 ? kMost : -kMost - 1, i);
    memory(i, 0, 0x10, i % 3 == 0 ? -kMost : kMost, -1);
  }
  EXPECT_NE(rows(), "");
  EXPECT_EQ(trace.memory_events.size(), 1200U);
}

}  // namespace
}  // namespace stepscope::capture_format

// Records made by hand, so that each time is known.
#include "session/build_trace.h"

#include <gtest/gtest.h>

#include <bit>

namespace stepscope {
namespace {

constexpr TimeNs kDay = 86'400'000'000'000;
constexpr TimeNs kBase = 20'000 * kDay;
constexpr std::int64_t kProcess = 4000;

RunIdentity identity() {
  RunIdentity out;
  out.host_name = "node7";
  out.process_id = kProcess;
  out.process_name = "train";
  out.rank = 1;
  out.world_size = 4;
  return out;
}

Record record(RecordKind kind, std::string_view name, TimeNs start, TimeNs end, std::int64_t value = 0) {
  return {.start_ns = kBase + start,
          .end_ns = kBase + end,
          .value = value,
          .name = intern_name(name),
          .detail = 0,
          .kind = kind};
}

ThreadRecords thread(std::int64_t id, std::string name, std::vector<Record> records) {
  ThreadRecords out;
  out.thread_id = id;
  out.thread_name = std::move(name);
  out.records = std::move(records);
  return out;
}

CycleRecords cycle(std::vector<ThreadRecords> threads) {
  CycleRecords out;
  out.host.start_ns = kBase + 1;
  out.host.end_ns = kBase + 1'000'000;
  out.host.threads = std::move(threads);
  return out;
}

Trace build(CycleRecords records) { return build_trace(std::move(records), identity(), {}).trace; }

std::vector<std::string> span_names(const Trace& trace, ThreadId thread) {
  std::vector<std::string> names;
  for (const SpanId id : trace.spans_of_thread[thread].ids()) names.emplace_back(trace.text(trace.spans.name[id]));
  return names;
}

TEST(BuildTrace, SaysWhoWasRecordedAndHow) {
  const Trace trace = build_trace(cycle({}), identity(), {.record_shapes = true, .with_stack = true}).trace;
  EXPECT_EQ(trace.info.base_ns, kBase);
  EXPECT_EQ(trace.info.host_name, "node7");
  EXPECT_EQ(trace.info.rank, 1);
  EXPECT_EQ(trace.info.world_size, 4);
  EXPECT_TRUE(trace.info.record_shapes);
  EXPECT_FALSE(trace.info.profile_memory);
  EXPECT_TRUE(trace.info.with_stack);
  ASSERT_EQ(trace.processes.size(), 1U);
  EXPECT_EQ(trace.text(trace.processes.key[ProcessId(0)]), "4000");
  EXPECT_EQ(trace.text(trace.processes.name[ProcessId(0)]), "train");
  EXPECT_EQ(trace.text(trace.processes.labels[ProcessId(0)]), "CPU");
}

TEST(BuildTrace, PutsTheMainThreadFirstAndTheOthersByNumber) {
  const Trace trace = build(cycle({thread(4100, "loader", {}), thread(3999, "early", {}), thread(4000, "train", {})}));
  ASSERT_EQ(trace.threads.size(), 3U);
  EXPECT_EQ(trace.text(trace.threads.key[ThreadId(0)]), "4000");
  EXPECT_EQ(trace.text(trace.threads.key[ThreadId(1)]), "3999");
  EXPECT_EQ(trace.text(trace.threads.name[ThreadId(2)]), "loader");
}

TEST(BuildTrace, NestsSpansOfEqualTimesAsTheyEnded) {
  // Written in the order of their ends: the inner one first.
  CycleRecords records =
      cycle({thread(kProcess, "train",
                    {record(RecordKind::kSpan, "inner", 10, 20), record(RecordKind::kSpan, "outer", 10, 20),
                     record(RecordKind::kSpan, "later", 20, 20)})});
  records.steps.push_back(
      {.number = 7, .start_ns = kBase + 10, .end_ns = kBase + 20, .opened_by = kProcess, .closed_by = kProcess});
  const Trace trace = build(std::move(records));
  EXPECT_EQ(span_names(trace, ThreadId(0)), (std::vector<std::string>{"ProfilerStep#7", "outer", "inner", "later"}));
  EXPECT_EQ(trace.spans.start_ns[SpanId(0)], 10);
  EXPECT_EQ(trace.spans.end_ns[SpanId(0)], 20);
}

TEST(BuildTrace, GivesOperatorsTheirDetailsParentsAndNumbers) {
  CycleRecords records = cycle({thread(
      kProcess, "train", {record(RecordKind::kOp, "my::mm", 12, 18), record(RecordKind::kOp, "my::linear", 10, 20)})});
  RecordDetail detail;
  detail.shapes = "[[2, 3], [3, 4]]";
  detail.types = R"(["float", "float"])";
  detail.file = "/src/net.cpp";
  detail.line = 9;
  records.host.threads[0].details.push_back(detail);
  records.host.threads[0].records[0].detail = 1;
  records.host.threads[0].records[1].detail = 99;  // points nowhere
  const Trace trace = build(std::move(records));
  ASSERT_EQ(trace.ops.size(), 2U);
  EXPECT_EQ(trace.text(trace.ops.name[OpId(0)]), "my::linear");
  EXPECT_EQ(trace.ops.parent[OpId(1)], OpId(0));
  EXPECT_EQ(trace.text(trace.ops.shapes[OpId(1)]), "[[2, 3], [3, 4]]");
  EXPECT_EQ(trace.text(trace.ops.types[OpId(1)]), R"(["float", "float"])");
  EXPECT_EQ(trace.text(trace.ops.call_stack[OpId(1)]), "net.cpp(9)");
  EXPECT_EQ(trace.ops.external_id[OpId(0)].value(), 1);
  EXPECT_EQ(trace.ops.external_id[OpId(1)].value(), 2);
}

TEST(BuildTrace, JoinsAsynchronousSpansAcrossThreads) {
  CycleRecords records = cycle({thread(kProcess, "train", {record(RecordKind::kAsyncEnd, "load", 50, 50, 1)}),
                                thread(4100, "loader",
                                       {record(RecordKind::kAsyncBegin, "load", 10, 10, 1),
                                        record(RecordKind::kAsyncBegin, "lost", 30, 30, 2)})});
  records.host.open_span_count = 3;
  const BuiltTrace built = build_trace(std::move(records), identity(), {});
  EXPECT_EQ(built.open_span_count, 4U);
  const Spans& spans = built.trace.spans;
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(built.trace.text(spans.name[SpanId(0)]), "load");
  EXPECT_EQ(spans.is_async[SpanId(0)], 1);
  EXPECT_EQ(spans.start_ns[SpanId(0)], 10);
  EXPECT_EQ(spans.end_ns[SpanId(0)], 50);
  EXPECT_EQ(built.trace.text(built.trace.threads.key[spans.thread[SpanId(0)]]), "4100");
}

TEST(BuildTrace, KeepsCountersInstantsAndAllocations) {
  CycleRecords records = cycle({thread(
      kProcess, "train",
      {record(RecordKind::kCounter, "loss", 10, 10, std::bit_cast<std::int64_t>(0.5)),
       record(RecordKind::kInstant, "checkpoint", 20, 20), record(RecordKind::kAllocation, "[memory]", 30, 30, -64)})});
  RecordDetail detail;
  detail.address = 0xFFFF'0000'0000'0010ULL;
  detail.total_allocated_bytes = 128;
  detail.device_type = 1;
  detail.device_number = 2;
  records.host.threads[0].details.push_back(detail);
  records.host.threads[0].records[2].detail = 1;
  const Trace trace = build(std::move(records));
  ASSERT_EQ(trace.counters.size(), 1U);
  EXPECT_EQ(trace.text(trace.counters.name[CounterId(0)]), "loss");
  EXPECT_EQ(trace.counters.value[CounterId(0)], 0.5);
  EXPECT_EQ(trace.text(trace.counters.process_key[CounterId(0)]), "4000");
  ASSERT_EQ(trace.other_events.size(), 1U);
  EXPECT_EQ(trace.text(trace.other_events.name[OtherEventId(0)]), "checkpoint");
  EXPECT_EQ(trace.other_events.phase[OtherEventId(0)], 'i');
  ASSERT_EQ(trace.memory_events.size(), 1U);
  const MemoryEvents::Row memory = trace.memory_events.row(MemoryEventId(0));
  EXPECT_EQ(memory.bytes, -64);
  EXPECT_EQ(static_cast<std::uint64_t>(memory.address.value()), 0xFFFF'0000'0000'0010ULL);
  EXPECT_EQ(memory.total_allocated_bytes.value(), 128);
  EXPECT_FALSE(memory.total_reserved_bytes.has_value());
  EXPECT_EQ(memory.device_type, 1);
  EXPECT_EQ(memory.device_number, 2);
}

TEST(BuildTrace, NotesWhatWasDropped) {
  CycleRecords records = cycle({thread(kProcess, "train", {}), thread(4100, "loader", {})});
  records.host.threads[0].dropped_count = 3;
  records.host.threads[1].dropped_count = 4;
  records.device.dropped_count = 5;
  const Trace trace = build(std::move(records));
  EXPECT_EQ(trace.notes.count(NoteKind::kRecordsDropped), 12U);
  EXPECT_TRUE(trace.notes.lost_anything());
}

// Steps counted by two threads: one row, since readers take the row with most markers for the only one.
TEST(BuildTrace, KeepsStepsOfSeveralThreadsOnOneRow) {
  CycleRecords records = cycle({});
  records.steps = {{.number = 3, .start_ns = kBase + 10, .end_ns = kBase + 20, .opened_by = 4001, .closed_by = 4001},
                   {.number = 4, .start_ns = kBase + 20, .end_ns = kBase + 30, .opened_by = 4001, .closed_by = 4002},
                   {.number = 5, .start_ns = kBase + 30, .end_ns = kBase + 40, .opened_by = 4002, .closed_by = 4001}};
  const Trace trace = build(std::move(records));
  ASSERT_EQ(trace.spans.size(), 3U);
  for (const SpanId id : trace.spans.ids().ids()) {
    EXPECT_EQ(trace.text(trace.threads.key[trace.spans.thread[id]]), "4001");
    EXPECT_EQ(trace.spans.is_async[id], id.value == 0 ? 0 : 1);
  }
}

TEST(BuildTrace, LinksGpuWorkToCallsOperatorsAndArrows) {
  CycleRecords records = cycle({thread(kProcess, "train", {record(RecordKind::kOp, "my::mm", 10, 40)})});
  records.device.devices.push_back({.number = 0,
                                    .name = "Fake 9000",
                                    .memory_bytes = 1 << 30,
                                    .sm_count = 64,
                                    .compute_major = 9,
                                    .compute_minor = 0});
  records.device.calls = {{.start_ns = kBase + 20,
                           .end_ns = kBase + 25,
                           .name = "cudaLaunchKernel",
                           .thread_id = kProcess,
                           .correlation = 5},
                          {.start_ns = kBase + 60,
                           .end_ns = kBase + 90,
                           .name = "cudaDeviceSynchronize",
                           .thread_id = 4100,
                           .correlation = 6}};
  DeviceWork kernel;
  kernel.start_ns = kBase + 50;
  kernel.end_ns = kBase + 70;
  kernel.name = "gemm<float>";
  kernel.stream = 7;
  kernel.correlation = 5;
  kernel.grid[0] = 132;
  kernel.block[0] = 256;
  DeviceWork orphan;  // its launch came before the recording
  orphan.start_ns = kBase + 5;
  orphan.end_ns = kBase + 9;
  orphan.name = "Memcpy HtoD";
  orphan.kind = DeviceWorkKind::kCopy;
  orphan.stream = 7;
  orphan.correlation = 1;
  orphan.bytes = 4096;
  records.device.work = {kernel, orphan};
  const Trace trace = build(std::move(records));
  ASSERT_EQ(trace.gpu_events.size(), 2U);
  const GpuEvents::Row copy = trace.gpu_events.row(GpuEventId(0));
  EXPECT_EQ(copy.kind, GpuEventKind::kCopy);
  EXPECT_EQ(copy.bytes.value(), 4096);
  EXPECT_FALSE(copy.call.has_value());
  const GpuEvents::Row gemm = trace.gpu_events.row(GpuEventId(1));
  EXPECT_EQ(trace.text(gemm.name), "gemm<float>");
  ASSERT_TRUE(gemm.call.has_value());
  EXPECT_EQ(trace.text(trace.calls.name[gemm.call]), "cudaLaunchKernel");
  EXPECT_EQ(gemm.op, OpId(0));
  EXPECT_EQ(gemm.external_id, trace.ops.external_id[OpId(0)]);
  EXPECT_EQ(trace.calls.external_id[gemm.call], trace.ops.external_id[OpId(0)]);
  EXPECT_EQ(gemm.grid_x, 132);
  EXPECT_EQ(trace.text(trace.devices.name[DeviceId(0)]), "Fake 9000");
  // One arrow, from the launch to its kernel.
  ASSERT_EQ(trace.flows.size(), 2U);
  EXPECT_EQ(trace.flows.phase[FlowId(0)], 's');
  EXPECT_EQ(trace.flows.time_ns[FlowId(0)], 20);
  EXPECT_EQ(trace.flows.phase[FlowId(1)], 'f');
  EXPECT_EQ(trace.flows.time_ns[FlowId(1)], 50);
  EXPECT_EQ(trace.flows.id[FlowId(1)], 5U);
  EXPECT_EQ(trace.text(trace.flows.category[FlowId(0)]), "ac2g");
  EXPECT_EQ(trace.text(trace.flows.thread_key[FlowId(1)]), "7");
}

}  // namespace
}  // namespace stepscope

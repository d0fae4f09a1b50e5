// What each record becomes, and what damage costs.
#include "import/capture/capture.h"

#include <gtest/gtest.h>

#include <map>

#include "import/capture/made_capture.h"

namespace stepscope::capture_format {
namespace {

Trace one(Result<std::vector<Trace>> traces) {
  EXPECT_TRUE(traces.has_value()) << (traces ? "" : traces.error().to_string());
  return traces ? std::move(traces->front()) : Trace();
}

std::string notes_of(const Trace& trace) {
  std::string text;
  for (const Note& note : trace.notes.all()) {
    if (!text.empty()) text += ", ";
    text += std::string(note_kind_name(note.kind)) + "/" + std::string(note_severity_name(note.severity)) + "/" +
            std::to_string(note.count);
  }
  return text;
}

// "name start-end" of each frame, times in us.
std::string frames_of(const Trace& trace) {
  std::string text;
  for (const FrameId id : trace.frames.ids().ids()) {
    text += std::string(trace.text(trace.frames.name[id])) + " " + std::to_string(trace.frames.start_ns[id] / 1000) +
            "-" + std::to_string(trace.frames.end_ns[id] / 1000) + "\n";
  }
  return text;
}

TEST(Capture, RecordsBecomeRows) {
  const Trace trace = one(read_bytes(made_training().whole()));
  EXPECT_EQ(notes_of(trace), "");
  EXPECT_EQ(trace.info.producer, "capture");
  EXPECT_EQ(trace.info.base_ns, 1'702'944'000'000'000'000) << "a multiple of 90 days";
  EXPECT_EQ(trace.info.rank, 1);
  EXPECT_EQ(trace.info.world_size, 2);
  EXPECT_EQ(trace.info.host_name, "node7");
  EXPECT_EQ(trace.info.cuda_runtime_version, 13000);
  EXPECT_EQ(trace.info.torch_version, "2.11.0");
  EXPECT_EQ(trace.info.remarks, std::vector<std::string>{"attached to torch 2.11.0"});
  EXPECT_EQ(trace.info.windows, (std::vector<Interval>{{900'000, 3'000'000}}));
  ASSERT_EQ(trace.threads.size(), 1U);
  EXPECT_EQ(trace.text(trace.threads.key[ThreadId(0)]), "77");
  EXPECT_EQ(trace.text(trace.threads.name[ThreadId(0)]), "python");
  EXPECT_EQ(trace.text(trace.processes.key[ProcessId(0)]), "4242");
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.text(trace.devices.name[DeviceId(0)]), "NVIDIA H200");
  EXPECT_EQ(trace.devices.sm_count[DeviceId(0)], MaybeInt(132));

  ASSERT_EQ(trace.ops.size(), 2U);
  EXPECT_EQ(trace.ops.start_ns[OpId(0)], 1'010'000);
  EXPECT_EQ(trace.ops.sequence[OpId(1)], MaybeInt(6));
  EXPECT_EQ(trace.text(trace.ops.shapes[OpId(0)]), "[[2, 3], [3, 4]]");
  ASSERT_EQ(trace.spans.size(), 2U);
  EXPECT_EQ(trace.text(trace.spans.name[SpanId(1)]), "ProfilerStep#4");
  ASSERT_EQ(trace.calls.size(), 4U);
  EXPECT_EQ(trace.calls.kind[CallId(1)], ApiKind::kStreamSync);
  ASSERT_EQ(trace.gpu_events.size(), 2U);
  EXPECT_EQ(trace.gpu_events.call[GpuEventId(0)], CallId(0));
  EXPECT_EQ(trace.gpu_events.op[GpuEventId(0)], OpId(0));
  EXPECT_EQ(trace.gpu_events.grid_x[GpuEventId(0)], 132);
  EXPECT_EQ(trace.gpu_events.occupancy_percent[GpuEventId(0)], -1);
  ASSERT_EQ(trace.gpu_spans.size(), 2U);
  EXPECT_EQ(trace.text(trace.gpu_spans.category[GpuSpanId(0)]), "cuda_sync");
  ASSERT_EQ(trace.memory_events.size(), 2U);
  EXPECT_EQ(trace.memory_events.bytes[MemoryEventId(1)], -4096);
  EXPECT_EQ(static_cast<std::uint64_t>(trace.memory_events.address[MemoryEventId(0)].value()), 0xFFFF'0000'0000'1000U);
  ASSERT_EQ(trace.counters.size(), 2U);
  EXPECT_EQ(trace.counters.value[CounterId(0)], 2.5);
  ASSERT_EQ(trace.other_events.size(), 2U);
  EXPECT_EQ(trace.text(trace.other_events.category[OtherEventId(0)]), "overhead");
}

TEST(Capture, StacksBecomeFramesThatLast) {
  const Trace trace = one(read_bytes(made_training().whole()));
  EXPECT_EQ(frames_of(trace),
            "train.py(90): <module> 1010-2700\n"
            "train.py(52): step 1010-1100\n"
            "train.py(53): step 1100-1700\n"
            "data.py(12): load 1700-2010\n"
            "train.py(52): step 2010-2100\n"
            "train.py(53): step 2100-2700\n");
}

TEST(Capture, UserScopesAreSpansAndNamedStepsHaveNumbers) {
  MadeCapture file;
  WireOp op;
  op.end_ns = 10;
  op.name = file.text("forward");
  op.scope = WireOpScope::kUser;
  WireSpan step;
  step.end_ns = 20;
  step.name = file.text("train#12");
  step.source = WireSpanSource::kStep;
  WireSpan heard = step;
  heard.end_ns = 15;
  heard.name = file.text("ProfilerStep#3");
  WireSpan range;
  range.end_ns = 20;
  range.name = file.text("range#3");
  range.is_async = true;
  const Trace trace = one(read_bytes(file.add(op).add(step).add(heard).add(range).whole()));
  EXPECT_TRUE(trace.ops.empty());
  ASSERT_EQ(trace.spans.size(), 4U);
  EXPECT_EQ(trace.text(trace.spans.name[SpanId(2)]), "ProfilerStep#3") << "a name that every reader knows";
  EXPECT_EQ(trace.spans.step_number[SpanId(2)], MaybeInt(3)) << "which PyTorch's own have not";
  EXPECT_EQ(trace.text(trace.spans.name[SpanId(0)]), "train");
  EXPECT_EQ(trace.spans.step_number[SpanId(0)], MaybeInt(12));
  EXPECT_EQ(trace.text(trace.spans.name[SpanId(1)]), "range#3");
  EXPECT_FALSE(trace.spans.step_number[SpanId(1)].has_value());
  EXPECT_EQ(trace.spans.is_async[SpanId(1)], 1);
  EXPECT_EQ(trace.text(trace.spans.name[SpanId(3)]), "forward");
}

TEST(Capture, GraphKernelsKeepTheirOperatorAndLine) {
  MadeCapture file;
  WireGraphNode node;
  node.graph_node = 9'000'000'001;
  node.op = file.text("aten::addmm");
  node.stack = file.stack({"train.py:5:main", "model.py:7:forward"});
  WireCall launch;
  launch.end_ns = 10;
  launch.name = file.text("cudaGraphLaunch");
  launch.correlation = 4;
  launch.stack = file.stack({"train.py:80:main"});
  WireGpuEvent kernel;
  kernel.start_ns = 20;
  kernel.end_ns = 30;
  kernel.name = file.text("gemm");
  kernel.correlation = 4;
  kernel.graph_id = 3;
  kernel.graph_node = 9'000'000'001;
  WireGpuEvent other = kernel;
  other.start_ns = 40;
  other.end_ns = 50;
  other.graph_node = 5;
  // A launch whose operator is known by name alone; the kernel comes first.
  WireGpuEvent plain = other;
  plain.start_ns = 60;
  plain.end_ns = 70;
  plain.graph_id = plain.graph_node = MaybeInt();
  plain.correlation = 6;
  WireCall named;
  named.start_ns = 52;
  named.end_ns = 53;
  named.name = file.text("cudaLaunchKernel");
  named.correlation = 6;
  named.op = file.text("aten::relu");
  const Trace trace = one(read_bytes(file.add(kernel).add(other).add(plain).add(node).add(launch).add(named).whole()));
  ASSERT_EQ(trace.gpu_events.size(), 3U);
  EXPECT_EQ(trace.text(trace.gpu_events.op_name[GpuEventId(0)]), "aten::addmm");
  EXPECT_EQ(trace.text(trace.gpu_events.call_stack[GpuEventId(0)]), "model.py(7): forward;train.py(5): main");
  EXPECT_EQ(trace.calls.gpu_count[CallId(0)], 2U);
  EXPECT_TRUE(trace.gpu_events.op_name[GpuEventId(1)].empty());
  EXPECT_EQ(trace.text(trace.gpu_events.op_name[GpuEventId(2)]), "aten::relu");
}

TEST(Capture, LaunchesWithoutANumberStartedNothing) {
  MadeCapture file = made_training();
  WireCall call;
  call.start_ns = 1'700'000'000'001'500'000;
  call.end_ns = call.start_ns + 10;
  for (const char* name : {"cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaMalloc"}) {
    call.name = file.text(name);
    file.add(call);
  }
  const Trace trace = one(read_bytes(file.whole()));
  std::map<ApiKind, int> count;
  for (const CallId id : trace.calls.ids().ids()) ++count[trace.calls.kind[id]];
  EXPECT_EQ(count, (std::map<ApiKind, int>{{ApiKind::kLaunch, 2},  // the two of the training, with their kernels
                                           {ApiKind::kStreamSync, 2},
                                           {ApiKind::kAllocate, 1},
                                           {ApiKind::kOther, 4}}));
}

TEST(Capture, WhatIsAttachedLaterIsDescribedLater) {
  MadeCapture file = made_training();
  CaptureInfo later;
  later.process_id = 4242;
  later.start_ns = 1'800'000'000'000'000'000;
  later.cuda_runtime_version = 13010;
  later.cupti_version = 130001;
  later.torch_version = "2.12.0";
  later.records_shapes = true;
  file.add(later);
  CaptureInfo stranger = later;
  stranger.process_id = 1;
  stranger.rank = 7;
  file.add(stranger);
  const Trace trace = one(read_bytes(file.whole()));
  EXPECT_EQ(notes_of(trace), "");
  EXPECT_EQ(trace.info.base_ns, 1'702'944'000'000'000'000);
  EXPECT_EQ(trace.info.cuda_runtime_version, 13010);
  EXPECT_EQ(trace.info.cupti_version, 130001);
  EXPECT_EQ(trace.info.torch_version, "2.12.0");
  EXPECT_EQ(trace.info.python_version, "3.12.3");
  EXPECT_EQ(trace.info.command_line, "python train.py");
  EXPECT_EQ(trace.info.process_start_ns, 1'702'943'940'000'000'000);
  EXPECT_EQ(trace.info.rank, 1);
  EXPECT_EQ(trace.info.record_shapes, true);
  EXPECT_EQ(trace.info.with_stack, true);
}

TEST(Capture, ZeroAndBackwardTimesStayOutOfSums) {
  MadeCapture file;
  CaptureInfo info;
  constexpr TimeNs kBase = 1'702'944'000'000'000'000;
  info.start_ns = kBase;
  file.add(info);
  WireGpuEvent event;
  event.name = file.text("k");
  for (const auto& [start_ns, end_ns] : {std::pair<TimeNs, TimeNs>{kBase + 100, 0},
                                         {0, kBase + 200},
                                         {kBase + 300, kBase + 250},
                                         {kBase + 400, kBase + 500}}) {
    event.start_ns = start_ns;
    event.end_ns = end_ns;
    file.add(event);
  }
  const Trace trace = one(read_bytes(file.whole()));
  EXPECT_EQ(notes_of(trace), "bad_duration/lost/3");
  ASSERT_EQ(trace.gpu_events.size(), 4U);
  const TimeNs starts[] = {100, 200, 300, 400};
  for (const GpuEventId id : trace.gpu_events.ids().ids()) {
    EXPECT_EQ(trace.gpu_events.start_ns[id], starts[id.value]);
    EXPECT_EQ(trace.gpu_events.fault[id], id.value < 3 ? TimeFault::kBadDuration : TimeFault::kNone);
  }
}

TEST(Capture, LedgerAndEndSayWhatIsMissing) {
  MadeCapture file = made_training();
  WireLedger host;
  host.dropped_host_count = 7;
  WireLedger device;
  device.dropped_by_cupti_count = 3;
  device.dropped_by_cap_count = 2;
  device.unmatched_count = 4;
  device.device = 0;
  file.add(host).add(device).add(WireEnd{0, 11});
  const Trace trace = one(read_bytes(file.cut()));
  EXPECT_EQ(notes_of(trace), "records_dropped/lost/23, unmatched_records/info/4");
}

TEST(Capture, MissingEndIsNoted) { EXPECT_EQ(notes_of(one(read_bytes(made_training().cut()))), "ended_early/lost/1"); }

TEST(Capture, NothingRecordedIsAnErrorWithTheReason) {
  MadeCapture file;
  file.add(WireRemark{0, file.text("CUPTI is not there")});
  const auto traces = read_bytes(file.whole());
  ASSERT_FALSE(traces.has_value());
  EXPECT_EQ(traces.error().code, ErrorCode::kDamaged);
  EXPECT_EQ(traces.error().message, "a capture without events: CUPTI is not there");
}

TEST(Capture, LostDefinitionsAreCountedAndReadAsLost) {
  MadeCapture file;
  WireOp op;
  op.end_ns = 5;
  op.name = 9;
  op.stack = 4;
  const Trace trace = one(read_bytes(file.add(op).whole()));
  EXPECT_EQ(notes_of(trace), "undefined_name/lost/2");
  EXPECT_EQ(trace.text(trace.ops.name[OpId(0)]), "(name lost)");
}

TEST(Capture, MissingChunksShowInTheNumbers) {
  const std::string whole = made_training().whole();
  const std::size_t second = whole.find("\xF1SSCHK", wire::kFileHeaderBytes + 1);
  const std::size_t third = whole.find("\xF1SSCHK", second + 1);
  const Trace trace = one(read_bytes(whole.substr(0, second) + whole.substr(third)));
  EXPECT_EQ(trace.notes.count(NoteKind::kChunkDamaged), 1U);
  EXPECT_TRUE(trace.notes.lost_anything());
}

TEST(Capture, EveryPrefixIsSurvivedAndSaidToBeOne) {
  const std::string whole = made_training().whole();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto traces = read_bytes(whole.substr(0, size));
    if (traces) {
      EXPECT_TRUE(traces->front().notes.lost_anything()) << size;
    } else {
      EXPECT_FALSE(traces.error().message.empty());
    }
  }
}

TEST(Capture, EveryChangedByteIsSurvivedAndNoted) {
  const std::string whole = made_training().whole();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char change : {'\x01', '\x10', '\xFF'}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto traces = read_bytes(std::move(changed));
      ASSERT_TRUE(traces.has_value()) << at;
      EXPECT_FALSE(traces->front().notes.all().empty()) << at;
    }
  }
}

TEST(Capture, OnlyThisFormatIsRecognised) {
  EXPECT_TRUE(recognises(made_training().whole()));
  EXPECT_FALSE(recognises("{\"traceEvents\": []}"));
  EXPECT_FALSE(recognises(""));
}

}  // namespace
}  // namespace stepscope::capture_format

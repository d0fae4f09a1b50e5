// From a program that is recorded, through a file, to what the importer reads: nothing changes on the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "export/chrome_trace.h"
#include "import/importers.h"
#include "session/fake_device_source.h"
#include "stepscope/session.h"
#include "stepscope/span.h"

namespace stepscope {
namespace {

using Strings = std::vector<std::string>;

std::string temporary_path(const std::string& name) {
  return testing::TempDir() + "session_file_" + std::to_string(getpid()) + "_" + name;
}

Trace read_back(const std::string& path) {
  auto traces = read_traces(path);
  std::filesystem::remove(path);
  if (!traces) {
    ADD_FAILURE() << traces.error().to_string();
    return {};
  }
  EXPECT_EQ(traces->size(), 1U);
  return std::move(traces->front());
}

// Records what `work` does, in a step if there is a schedule, and reads the file.
template <class Work>
Trace record(Work&& work, SessionOptions options = {}, std::string* text = nullptr) {
  ProfilingSession session(std::move(options));
  EXPECT_TRUE(session.start());
  work();
  session.step();
  EXPECT_TRUE(session.stop());
  EXPECT_TRUE(session.errors().empty());
  const std::string path = temporary_path("trace.json.gz");
  EXPECT_TRUE(session.last_trace()->write_chrome_trace(path));
  EXPECT_EQ(session.trace_files(), Strings{path});
  if (text != nullptr) *text = session.last_trace()->chrome_trace_text().value();
  return read_back(path);
}

Strings span_names(const Trace& trace) {
  Strings names;
  for (const SpanId id : trace.spans.ids().ids()) names.emplace_back(trace.text(trace.spans.name[id]));
  return names;
}

ThreadId find_thread(const Trace& trace, std::string_view name) {
  for (const ThreadId id : trace.threads.ids().ids()) {
    if (trace.text(trace.threads.name[id]) == name) return id;
  }
  return {};
}

Schedule one_step() { return make_schedule({.active = 1, .repeat = 1}).value(); }

TEST(SessionFile, HasTheFlopsThatOperatorsTold) {
  for (const bool with_flops : {true, false}) {
    const Trace trace = record(
        [] {
          { const OpSpan told("my::mm", {{2, 3}, {3, 4}}, 2.0 * 2 * 3 * 4); }
          { const OpSpan nothing("my::view", {{2, 3}}, 0); }
          { const OpSpan unknown("my::other"); }
        },
        {.schedule = one_step(), .with_flops = with_flops});
    std::vector<MaybeInt> flops;
    for (const OpId op : trace.ops.ids().ids()) flops.push_back(trace.ops.flops[op]);
    EXPECT_EQ(flops, with_flops ? (std::vector<MaybeInt>{48, 0, MaybeInt()}) : std::vector<MaybeInt>(3));
  }
}

TEST(SessionFile, ReadsBackAsItWasWritten) {
  std::string text;
  const Trace trace = record(
      [] {
        const Span outer("outer");
        for (int i = 0; i < 100; ++i) {
          const OpSpan op("my::mm", {{2, 3}, {3, i}});
          const Span inner("inner " + std::to_string(i % 7));
          record_counter("loss", 1.0 / (i + 3));
          record_instant("now");
          end_async(begin_async("request"));
        }
        std::thread([] {
          set_thread_name("worker");
          const Span span("elsewhere");
        }).join();
        set_thread_name("");
      },
      {.schedule = one_step(), .record_shapes = true}, &text);
  std::string again;
  ASSERT_TRUE(write_chrome_trace(trace, [&](std::string_view piece) -> Status {
    again += piece;
    return Done{};
  }));
  EXPECT_EQ(again, text);
  EXPECT_TRUE(trace.notes.all().empty());
  EXPECT_EQ(trace.ops.size(), 100U);
  EXPECT_EQ(trace.spans.size(), 203U);  // outer, 100 inner, 100 requests, elsewhere, the step
  EXPECT_EQ(trace.counters.size(), 100U);
  EXPECT_EQ(trace.other_events.size(), 100U);
  EXPECT_EQ(trace.text(trace.ops.shapes[OpId(99)]), "[[2, 3], [3, 99]]");
  EXPECT_EQ(trace.counters.value[CounterId(7)], 1.0 / 10);
}

TEST(SessionFile, KeepsNestingTimesAndTheStep) {
  const Trace trace = record(
      [] {
        const Span outer("outer");
        const Span inner("inner");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      },
      {.schedule = one_step()});
  EXPECT_EQ(span_names(trace), (Strings{"ProfilerStep#0", "outer", "inner"}));
  const Spans& spans = trace.spans;
  for (const SpanId id : {SpanId(1), SpanId(2)}) {
    const SpanId around(id.value - 1);
    EXPECT_LE(spans.start_ns[around], spans.start_ns[id]);
    EXPECT_GE(spans.end_ns[around], spans.end_ns[id]);
    EXPECT_GE(spans.end_ns[id] - spans.start_ns[id], 1'000'000);
  }
}

// Names are data: none of them may break the file or come back as another.
TEST(SessionFile, KeepsNamesThatAreNoWords) {
  const Strings names = {"say \"hi\"",
                         "back\\slash \\n",
                         "line\nbreak\r\ttab",
                         "</script><!-- ",
                         std::string("nul\0in", 6),
                         "\x01\x1f\x7f",
                         "d\xc3\xa9j\xc3\xa0 vu \xe2\x9c\x93 \xf0\x9f\x9a\x80",
                         "{\"a\": [1]}",
                         " ",
                         "'",
                         "\xe2\x80\xa8"};
  const Trace trace = record([&] {
    for (const std::string& name : names) const Span span(name);
  });
  EXPECT_EQ(span_names(trace), names);
  const Trace broken = record([] {
    const Span latin("caf\xe9");
    const Span cut("cut \xe2\x82");
  });
  EXPECT_EQ(span_names(broken), (Strings{"caf\xef\xbf\xbd", "cut \xef\xbf\xbd"}));
  EXPECT_TRUE(broken.notes.all().empty());
}

TEST(SessionFile, KeepsThreadsApart) {
  constexpr int kThreads = 6;
  const Trace trace = record([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([i] {
        set_thread_name("worker \"" + std::to_string(i) + "\"");
        for (int k = 0; k <= i; ++k) const Span span("of worker");
        record_counter("of worker", i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  EXPECT_EQ(trace.counters.size(), std::size_t{kThreads});
  for (int i = 0; i < kThreads; ++i) {
    const ThreadId thread = find_thread(trace, "worker \"" + std::to_string(i) + "\"");
    ASSERT_TRUE(thread.has_value()) << i;
    EXPECT_EQ(trace.spans_of_thread[thread].size(), static_cast<std::size_t>(i) + 1);
  }
}

TEST(SessionFile, KeepsWhoItWas) {
  setenv("RANK", "2", 1);
  setenv("WORLD_SIZE", "8", 1);
  const Trace trace = record([] { const Span span("work"); }, {.profile_memory = true, .with_flops = true});
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(trace.info.rank, 2);
  EXPECT_EQ(trace.info.world_size, 8);
  EXPECT_EQ(trace.info.host_name, host);
  EXPECT_TRUE(trace.info.profile_memory);
  EXPECT_TRUE(trace.info.with_flops);
  EXPECT_FALSE(trace.info.record_shapes);
  ASSERT_EQ(trace.processes.size(), 1U);
  EXPECT_EQ(trace.text(trace.processes.key[ProcessId(0)]), std::to_string(getpid()));
  EXPECT_EQ(trace.text(trace.processes.name[ProcessId(0)]), "library_test");
  // The time of the file, made absolute, is now.
  const auto now_ns = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  EXPECT_LT(std::abs(trace.info.base_ns + trace.spans.start_ns[SpanId(0)] - now_ns), 60'000'000'000);
}

TEST(SessionFile, KeepsAllocationsAndStacks) {
  const Trace trace = record(
      [] {
        const Span span("around");
        const OpSpan op("my::op");
        record_allocation(
            {.address = reinterpret_cast<const void*>(0x7F00'1234'5678), .bytes = 4096, .total_allocated_bytes = 8192});
        record_allocation({.bytes = -4096, .is_cuda = true, .device_number = 1});
      },
      {.profile_memory = true, .with_stack = true});
  ASSERT_EQ(trace.memory_events.size(), 2U);
  EXPECT_EQ(trace.memory_events.bytes[MemoryEventId(0)], 4096);
  EXPECT_EQ(trace.memory_events.address[MemoryEventId(0)].value(), 0x7F00'1234'5678);
  EXPECT_EQ(trace.memory_events.total_allocated_bytes[MemoryEventId(0)].value(), 8192);
  EXPECT_EQ(trace.memory_events.device_type[MemoryEventId(1)], 1);
  EXPECT_EQ(trace.memory_events.device_number[MemoryEventId(1)], 1);
  EXPECT_EQ(trace.text(trace.spans.call_stack[SpanId(0)]).find("session_file_test.cpp("), 0U);
  const std::string_view stack = trace.text(trace.ops.call_stack[OpId(0)]);
  EXPECT_EQ(stack.find("session_file_test.cpp("), 0U) << stack;
  EXPECT_NE(stack.find("TestBody"), std::string_view::npos) << stack;
  EXPECT_TRUE(stack.find(";main;") != std::string_view::npos || stack.ends_with("main")) << stack;
}

TEST(SessionFile, LinksWhatTheGpuDid) {
  FakeDeviceSource device;
  const auto tid = static_cast<std::int64_t>(gettid());
  const Trace trace = record(
      [&] {
        const OpSpan op("my::mm");
        const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        device.next_recording.devices.push_back({.number = 0,
                                                 .name = "NVIDIA H200",
                                                 .memory_bytes = 150109880320,
                                                 .sm_count = 132,
                                                 .compute_major = 9,
                                                 .compute_minor = 0});
        device.next_recording.calls = {{.start_ns = now + 1'000'000,
                                        .end_ns = now + 1'005'000,
                                        .name = "cudaLaunchKernel",
                                        .thread_id = tid,
                                        .correlation = 41},
                                       {.start_ns = now + 1'006'000,
                                        .end_ns = now + 1'009'000,
                                        .name = "cudaMemcpyAsync",
                                        .thread_id = tid,
                                        .correlation = 42}};
        DeviceWork kernel;
        kernel.name = "gemm<float, \"x\">(int)";
        kernel.start_ns = now + 1'010'000;
        kernel.end_ns = now + 1'030'000;
        kernel.stream = 7;
        kernel.correlation = 41;
        kernel.registers_count = 90;
        DeviceWork copy;
        copy.name = "Memcpy DtoH (Device -> Pinned)";
        copy.kind = DeviceWorkKind::kCopy;
        copy.start_ns = now + 1'030'000;
        copy.end_ns = now + 1'040'000;
        copy.stream = 7;
        copy.correlation = 42;
        copy.bytes = 1024;
        device.next_recording.work = {kernel, copy};
      },
      {.activities = {Activity::kCpu, Activity::kCuda}});
  ASSERT_EQ(trace.gpu_events.size(), 2U);
  for (const GpuEventId id : trace.gpu_events.ids().ids()) {
    ASSERT_TRUE(trace.gpu_events.call[id].has_value());
    EXPECT_EQ(trace.gpu_events.op[id], OpId(0));
    EXPECT_EQ(trace.calls.correlation[trace.gpu_events.call[id]], trace.gpu_events.correlation[id]);
  }
  EXPECT_EQ(trace.text(trace.gpu_events.name[GpuEventId(0)]), "gemm<float, \"x\">(int)");
  EXPECT_EQ(trace.gpu_events.end_ns[GpuEventId(0)] - trace.gpu_events.start_ns[GpuEventId(0)], 20'000);
  EXPECT_EQ(trace.gpu_events.registers_count[GpuEventId(0)], 90);
  EXPECT_EQ(trace.gpu_events.kind[GpuEventId(1)], GpuEventKind::kCopy);
  EXPECT_EQ(trace.gpu_events.bytes[GpuEventId(1)].value(), 1024);
  ASSERT_EQ(trace.devices.size(), 1U);
  EXPECT_EQ(trace.text(trace.devices.name[DeviceId(0)]), "NVIDIA H200");
  EXPECT_EQ(trace.devices.sm_count[DeviceId(0)].value(), 132);
  EXPECT_EQ(trace.flows.size(), 4U);
  EXPECT_EQ(std::count(trace.flows.phase.raw().begin(), trace.flows.phase.raw().end(), 'f'), 2);
}

// A file that lacks something says so to whoever reads it.
TEST(SessionFile, SaysWhatDidNotFit) {
  const Trace trace = record(
      [] {
        for (int i = 0; i < 100'000; ++i) const Span span("work");
      },
      {.max_bytes = 1 << 20});
  ASSERT_EQ(trace.notes.all().size(), 1U);
  EXPECT_EQ(trace.notes.all()[0].kind, NoteKind::kRecordsDropped);
  EXPECT_EQ(trace.notes.all()[0].severity, NoteSeverity::kLost);
  EXPECT_GT(trace.spans.size(), 0U);
  EXPECT_EQ(trace.spans.size() + trace.notes.all()[0].count, 100'000U);
}

TEST(SessionFile, WritesOneFileACycle) {
  const std::string folder = temporary_path("cycles");
  ProfilingSession session({.schedule = make_schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 2}).value(),
                            .on_trace_ready = directory_handler(folder, "rank0", true)});
  ASSERT_TRUE(session.start());
  for (int step = 0; step < 12; ++step) {
    const Span span("work of " + std::to_string(step));
    session.step();
  }
  ASSERT_TRUE(session.stop());
  const Strings files = session.trace_files();
  ASSERT_EQ(files.size(), 2U);
  Strings marked;
  for (const std::string& file : files) {
    const Trace trace = read_back(file);
    for (const std::string& name : span_names(trace)) {
      if (name.starts_with("ProfilerStep#")) marked.push_back(name);
    }
  }
  EXPECT_EQ(marked, (Strings{"ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#6", "ProfilerStep#7"}));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace stepscope

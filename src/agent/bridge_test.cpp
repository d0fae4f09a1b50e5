// Library and agent through the bridge. In this test both are one copy of our code; as two they are in tests/agent.
#include "agent/bridge.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "agent/agent_state.h"
#include "agent/capture_test_support.h"
#include "agent/fake_cupti_test_support.h"
#include "agent/gpu.h"
#include "agent/keep.h"
#include "agent/remarks.h"
#include "agent/session_gpu.h"
#include "capture/agent_link.h"
#include "capture/event_ring.h"
#include "capture/recorder.h"
#include "stepscope/span.h"

namespace stepscope::agent {
namespace {

class BridgeTest : public testing::Test {
 protected:
  void SetUp() override { forget_everything(); }
  void TearDown() override {
    join_agent(nullptr);
    finish();
    drain_events([](const RingThread&, std::span<const HookEvent>) {});
    forget_everything();
  }
  [[nodiscard]] AgentOptions options(bool is_paused) const {
    AgentOptions made;
    made.directory = folder.path();
    made.start_paused = is_paused;
    return made;
  }
  [[nodiscard]] Records capture() const { return read_capture(folder.files().at(0)); }
  static std::vector<std::string> span_names(const Records& records) {
    std::vector<std::string> names;
    for (const WireSpan& span : records.spans) names.push_back(records.strings.at(span.name));
    return names;
  }

  TestFolder folder;
};

TEST_F(BridgeTest, WhatAProgramSaysIsInTheCapture) {
  ASSERT_TRUE(arm_with(options(false)));
  ASSERT_TRUE(join_agent(&bridge_of_agent()));
  const TimeNs begin = now_ns();
  AsyncToken token;
  {
    const Span outer("outer");
    const OpSpan op("my::mm");
    record_counter("loss", 0.25);
    record_instant("here");
    token = begin_async("load");
  }
  std::thread([&] { end_async(token); }).join();
  const TimeNs end = now_ns();
  finish();
  EXPECT_FALSE(is_recording()) << "nobody listens any more";
  const Records records = capture();
  EXPECT_EQ(span_names(records), (std::vector<std::string>{"here", "outer", "load"}));
  for (const WireSpan& span : records.spans) {
    EXPECT_EQ(span.source, WireSpanSource::kLibrary);
    EXPECT_EQ(span.thread_id, gettid());
    EXPECT_GE(span.start_ns, begin);
    EXPECT_LE(span.start_ns, span.end_ns);
    EXPECT_LE(span.end_ns, end);
  }
  EXPECT_TRUE(records.spans[2].is_async);
  ASSERT_EQ(records.ops.size(), 1U);
  EXPECT_EQ(records.strings.at(records.ops[0].name), "my::mm");
  EXPECT_EQ(records.counters.at(0).value, 0.25);
  EXPECT_EQ(records.total().dropped_host_count, 0U);
}

TEST_F(BridgeTest, StepsOfTheProgramDriveTheSchedule) {
  AgentOptions scheduled = options(false);
  scheduled.schedule = "wait=2,warmup=1,active=2,repeat=1";
  ASSERT_TRUE(arm_with(scheduled));
  ASSERT_TRUE(join_agent(&bridge_of_agent()));
  for (int step = 0; step < 8; ++step) {
    const Span mark("ProfilerStep#" + std::to_string(step));
    const Span work("work " + std::to_string(step));
  }
  finish();
  const Records records = capture();
  ASSERT_EQ(records.windows.size(), 1U);
  EXPECT_EQ(records.windows[0].first_step, 3);
  EXPECT_EQ(records.windows[0].last_step, 4);
  EXPECT_EQ(span_names(records), (std::vector<std::string>{"work 3", "ProfilerStep#3", "work 4", "ProfilerStep#4"}));
}

TEST_F(BridgeTest, ASpanThatEndsOnAnotherThreadIsLeftOut) {
  ASSERT_TRUE(arm_with(options(false)));
  ASSERT_TRUE(join_agent(&bridge_of_agent()));
  Span moved("moved");
  std::thread([&] { moved.end(); }).join();
  { const Span stays("stays"); }
  finish();
  EXPECT_EQ(span_names(capture()), (std::vector<std::string>{"stays"}));
}

TEST_F(BridgeTest, ManyThreadsSpeakWhileWindowsComeAndGo) {
  ASSERT_TRUE(arm_with(options(true)));
  ASSERT_TRUE(join_agent(&bridge_of_agent()));
  ASSERT_TRUE(open_window(-1));
  std::vector<std::thread> threads;
  for (int t = 0; t < 40; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) {
        STEPSCOPE_SPAN("all");
        record_counter("i", i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  std::atomic<bool> is_over{false};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      while (!is_over) {
        STEPSCOPE_SPAN("some");
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    close_window(-1);
    open_window(-1);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  finish();
  int damage_count = 0;
  const Records records = read_capture(folder.files().at(0), &damage_count);
  EXPECT_EQ(damage_count, 0);
  EXPECT_EQ(records.counters.size(), 4'000U);
  std::size_t all_count = 0;
  for (const std::string& name : span_names(records)) all_count += name == "all" ? 1 : 0;
  EXPECT_EQ(all_count, 4'000U);
}

TEST_F(BridgeTest, AForkedChildSaysNothingUnlessAsked) {
  for (const bool is_followed : {false, true}) {
#if defined(__SANITIZE_THREAD__)
    if (is_followed) break;  // it ends a child that starts threads after a fork of many
#endif
    const TestFolder forked;
    AgentOptions followed = options(false);
    followed.directory = forked.path();
    followed.follow_children = is_followed;
    ASSERT_TRUE(arm_with(followed));
    ASSERT_TRUE(join_agent(&bridge_of_agent()));
    { const Span span("parent"); }
    const pid_t child = fork();
    if (child == 0) {
      const bool is_heard = is_recording();
      { const Span span("child"); }
      finish();
      _exit(is_heard == is_followed ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << is_followed;
    { const Span span("parent"); }
    finish();
    std::multiset<std::size_t> counts;
    for (const auto& file : forked.files()) counts.insert(read_capture(file).spans.size());
    EXPECT_EQ(counts, is_followed ? (std::multiset<std::size_t>{1, 2}) : (std::multiset<std::size_t>{2}));
    join_agent(nullptr);
    forget_everything();
  }
}

TEST_F(BridgeTest, AnotherVersionOfTheLibraryIsRefusedAndSaid) {
  ASSERT_TRUE(arm_with(options(false)));
  bridge::Library other{sizeof(bridge::Library), bridge::kVersion + 1, 0, 0, [](int) { ADD_FAILURE(); }};
  EXPECT_EQ(bridge_of_agent().join(&other), 0);
  other.version = bridge::kVersion;
  other.size_bytes = 8;
  EXPECT_EQ(bridge_of_agent().join(&other), 0);
  EXPECT_NE(complaint_line().find("another version"), std::string::npos);
  tell_libraries();
}

TEST_F(BridgeTest, NothingIsJoinedWhereNothingIsCaptured) {
  EXPECT_FALSE(join_agent(&bridge_of_agent()));
  EXPECT_FALSE(is_recording());
}

// ---- The GPU for a session.

struct Taken {
  std::vector<std::string> calls, work, devices;
  std::vector<bridge::GpuWork> rows;
  std::uint64_t dropped_count = 0;
  int end_count = 0;
};

Taken stop_session() {
  Taken taken;
  const bridge::GpuSink sink{
      &taken,
      [](void* to, const bridge::GpuDevice* device) { static_cast<Taken*>(to)->devices.emplace_back(device->name); },
      [](void* to, const bridge::GpuCall* call) { static_cast<Taken*>(to)->calls.emplace_back(call->name); },
      [](void* to, const bridge::GpuWork* work) {
        static_cast<Taken*>(to)->work.emplace_back(work->name);
        static_cast<Taken*>(to)->rows.push_back(*work);
      },
      [](void* to, std::uint64_t dropped) {
        static_cast<Taken*>(to)->dropped_count = dropped;
        ++static_cast<Taken*>(to)->end_count;
      }};
  bridge_of_agent().stop_gpu(&sink);
  return taken;
}

class SessionGpuTest : public BridgeTest {
 protected:
  void attach_fake() {
    auto* const gpu = new Gpu(FakeCupti::table(), AgentOptions{});
    keep_forever(gpu);  // a callback may still be in it when it is replaced
    replace_gpu(gpu);
    ASSERT_TRUE(gpu->attach());
  }
  [[nodiscard]] bridge::GpuAnswer start() {
    reason.assign(200, '\0');
    const bridge::GpuAnswer answer = bridge_of_agent().start_gpu(0, reason.data(), reason.size());
    reason.resize(std::strlen(reason.c_str()));
    return answer;
  }

  FakeCupti cupti;
  std::string reason;
};

TEST_F(SessionGpuTest, ASessionGetsTheRecordsOfItsTimeAndNothingStaysOn) {
  attach_fake();
  for (int round = 0; round < 3; ++round) {
    cupti.launch();  // before: not recorded
    ASSERT_EQ(bridge_of_agent().prepare_gpu(0, nullptr, 0), bridge::GpuAnswer::kStarted);
    ASSERT_EQ(start(), bridge::GpuAnswer::kStarted) << reason;
    cupti.launch(1'000 + static_cast<std::uint64_t>(round), 2'000);
    cupti.copy(cupti.call(FakeCupti::kMemcpy), 4'096);
    const Taken taken = stop_session();
    EXPECT_EQ(taken.work, (std::vector<std::string>{"void kernel<float>(float*)", "Memcpy HtoD (Pinned -> Device)"}))
        << round;
    EXPECT_EQ(taken.calls, (std::vector<std::string>{"cudaLaunchKernel", "cudaMemcpyAsync"}));
    EXPECT_EQ(taken.rows.at(0).kind, bridge::GpuWorkKind::kKernel);
    EXPECT_EQ(taken.rows.at(0).start_ns, 1'000 + round);
    EXPECT_EQ(taken.rows.at(0).bytes, -1);
    EXPECT_EQ(taken.rows.at(1).bytes, 4'096);
    EXPECT_EQ(taken.dropped_count, 0U);
    EXPECT_EQ(taken.end_count, 1);
    EXPECT_EQ(cupti.subscriber_count, 0);
    EXPECT_TRUE(cupti.enabled.empty());
  }
  EXPECT_TRUE(folder.files().empty());
}

TEST_F(SessionGpuTest, LaunchesUnderWayAtTheStopAreWaitedFor) {
  std::atomic<std::uint32_t> slow{0};
  std::atomic<int> flushes_since{0};
  cupti.on_flush = [&] {  // in place before the worker runs, which is who flushes
    if (slow == 0 || ++flushes_since != 3) return;
    cupti.enabled.insert(CuptiKind::kConcurrentKernel);
    cupti.kernel(slow, 10, 20);
  };
  attach_fake();
  ASSERT_EQ(start(), bridge::GpuAnswer::kStarted) << reason;
  slow = cupti.call(FakeCupti::kLaunch);
  const Taken taken = stop_session();
  EXPECT_EQ(taken.work.size(), 1U);
  EXPECT_EQ(taken.dropped_count, 0U);
}

TEST_F(SessionGpuTest, WhatWasLostIsCounted) {
  attach_fake();
  ASSERT_EQ(start(), bridge::GpuAnswer::kStarted) << reason;
  cupti.launch();
  cupti.drop(5);
  EXPECT_EQ(stop_session().dropped_count, 5U);
  // Not again in the next.
  ASSERT_EQ(start(), bridge::GpuAnswer::kStarted) << reason;
  cupti.launch();
  EXPECT_EQ(stop_session().dropped_count, 0U);
}

TEST_F(SessionGpuTest, TheAgentsOwnWindowGoesFirst) {
  attach_fake();
  ASSERT_TRUE(arm_with(options(false)));
  EXPECT_EQ(start(), bridge::GpuAnswer::kBusy);
  EXPECT_NE(reason.find("--paused"), std::string::npos);
  EXPECT_EQ(bridge_of_agent().prepare_gpu(0, nullptr, 0), bridge::GpuAnswer::kBusy);
  cupti.launch();
  ASSERT_TRUE(close_window(-1));
  // As soon as its records are in.
  ASSERT_EQ(start(), bridge::GpuAnswer::kStarted) << reason;
  EXPECT_EQ(start(), bridge::GpuAnswer::kBusy);
  cupti.launch();
  cupti.launch();
  EXPECT_FALSE(open_window(-1));
  EXPECT_NE(complaint_line().find("a window was not opened"), std::string::npos);
  EXPECT_EQ(stop_session().work.size(), 2U);
  ASSERT_TRUE(open_window(-1));
  cupti.launch();
  finish();
  EXPECT_EQ(capture().gpu_events.size(), 2U);
}

TEST_F(SessionGpuTest, ARivalIsNamed) {
  cupti.subscribe_result = kCuptiMultipleSubscribers;
  attach_fake();
  EXPECT_EQ(start(), bridge::GpuAnswer::kFailed);
  EXPECT_NE(reason.find("another profiler"), std::string::npos) << reason;
  EXPECT_EQ(stop_session().end_count, 1) << "a stop without a start ends all the same";
}

TEST_F(SessionGpuTest, TheEndOfTheProcessEndsItAndLeavesWhatThereWas) {
  attach_fake();
  ASSERT_EQ(start(), bridge::GpuAnswer::kStarted) << reason;
  cupti.launch();
  finish();
  EXPECT_EQ(cupti.subscriber_count, 0);
  cupti.launch();
  EXPECT_EQ(stop_session().work.size(), 1U);
}

TEST_F(SessionGpuTest, AForkedChildHasNoneOfIt) {
  attach_fake();
  ASSERT_TRUE(arm_with(options(true)));
  ASSERT_EQ(start(), bridge::GpuAnswer::kStarted) << reason;
  cupti.launch();
  const pid_t child = fork();
  if (child == 0) _exit(stop_session().work.empty() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(stop_session().work.size(), 1U);
}

TEST_F(SessionGpuTest, AProgramWithoutCudaIsLeftInPeaceUnlessTheGpuIsAskedFor) {
  EXPECT_EQ(bridge_of_agent().start_gpu(1, reason.data(), 0), bridge::GpuAnswer::kNoCuda);
  EXPECT_TRUE(complaint_line().empty());
}

}  // namespace
}  // namespace stepscope::agent

// A session against an agent that has another clock and hands over records that the test knows.
#include "session/agent_source.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "capture/agent_link.h"
#include "capture/recorder.h"
#include "capture/tick_clock.h"
#include "stepscope/session.h"
#include "stepscope/span.h"

namespace stepscope {
namespace {

// Its clock runs at a third of ours and began elsewhere.
struct FakeAgent {
  TickMapping clock;
  bridge::GpuAnswer answer = bridge::GpuAnswer::kStarted;
  int start_count = 0, prepare_count = 0, stop_count = 0, needs_cuda = -1;
  std::uint64_t launch_ticks = 0;
  std::vector<std::string> names;
};
FakeAgent fake;

bridge::GpuAnswer say(char* reason, std::size_t bytes) {
  std::snprintf(reason, bytes, "because");
  return fake.answer;
}

void hand_over(const bridge::GpuSink* sink) {
  ++fake.stop_count;
  bridge::GpuDevice device{0, 150'000'000'000, 132, 9, 0, "a GPU"};
  sink->on_device(sink->context, &device);
  const TimeNs launch = fake.clock.to_ns(fake.launch_ticks);
  bridge::GpuCall call{launch, launch + 10, 1, 7, "cudaLaunchKernel"};
  sink->on_call(sink->context, &call);
  bridge::GpuWork work{};
  work.start_ns = launch + 20;
  work.end_ns = launch + 50;
  work.correlation = 7;
  work.bytes = -1;
  work.name = "a kernel";
  sink->on_work(sink->context, &work);
  work.bytes = 64;
  work.kind = bridge::GpuWorkKind::kCopy;
  work.correlation = 0;
  sink->on_work(sink->context, &work);
  sink->on_end(sink->context, 3);
}

bridge::Agent make_agent() {
  bridge::Agent agent{};
  agent.size_bytes = sizeof agent;
  agent.version = bridge::kVersion;
  agent.say = [](const char*) {};
  agent.join = [](const bridge::Library* library) {
    library->set_heard(1);
    return 1;
  };
  agent.leave = [](const bridge::Library*) {};
  agent.read_clock = [](bridge::Clock* clock) {
    *clock = {fake.clock.base_ticks, fake.clock.base_ns, fake.clock.ns_per_tick_q40};
  };
  agent.open_span = [](const char* name, std::size_t bytes) -> std::uint64_t {
    fake.names.emplace_back(name, bytes);
    return 1;
  };
  agent.close_span = [](const bridge::Span* span) { EXPECT_LE(span->start_ticks, span->end_ticks); };
  agent.prepare_gpu = [](int, char* reason, std::size_t bytes) {
    ++fake.prepare_count;
    return say(reason, bytes);
  };
  agent.start_gpu = [](int needs_cuda, char* reason, std::size_t bytes) {
    ++fake.start_count;
    fake.needs_cuda = needs_cuda;
    return say(reason, bytes);
  };
  agent.stop_gpu = hand_over;
  return agent;
}

class AgentSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    fake = {};
    fake.clock = {read_ticks(), 5'000'000'000, std::uint64_t{1} << 38};
    ASSERT_TRUE(join_agent(&agent));
  }
  void TearDown() override { join_agent(nullptr); }
  bridge::Agent agent = make_agent();
};

TEST_F(AgentSourceTest, TimesArriveOnTheRecordersClock) {
  AgentSource source(agent, true, {});
  ASSERT_TRUE(source.start());
  const TickMapping ours = recorder_clock();
  fake.launch_ticks = fake.clock.base_ticks + (std::uint64_t{1} << 40);  // long after the two began
  const Result<DeviceRecording> recording = source.stop();
  ASSERT_TRUE(recording);
  ASSERT_EQ(recording->work.size(), 2U);
  ASSERT_EQ(recording->calls.size(), 1U);
  // 4 ticks are one ns of the agent's.
  EXPECT_NEAR(static_cast<double>(recording->calls[0].start_ns - ours.to_ns(fake.launch_ticks)), 0, 4);
  EXPECT_NEAR(static_cast<double>(recording->work[0].start_ns - ours.to_ns(fake.launch_ticks + 80)), 0, 4);
  EXPECT_NEAR(static_cast<double>(recording->work[0].end_ns - ours.to_ns(fake.launch_ticks + 200)), 0, 4);
  EXPECT_EQ(recording->work[0].correlation.value_or(0), 7);
  EXPECT_FALSE(recording->work[0].bytes.has_value());
  EXPECT_EQ(recording->work[1].bytes.value_or(0), 64);
  EXPECT_FALSE(recording->work[1].correlation.has_value());
  EXPECT_EQ(recording->devices.at(0).sm_count.value_or(0), 132);
  EXPECT_EQ(recording->dropped_count, 3U);
}

TEST_F(AgentSourceTest, ASessionFindsItAndTellsItOfItsSteps) {
  SessionOptions options;
  options.schedule = *make_schedule({.wait = 1, .warmup = 1, .active = 1, .repeat = 1});
  ProfilingSession session(options);
  ASSERT_TRUE(session.start());
  for (int step = 0; step < 4; ++step) {
    if (step == 2) fake.launch_ticks = read_ticks();
    session.step();
  }
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(fake.prepare_count, 1);
  EXPECT_EQ(fake.start_count, 1);
  EXPECT_EQ(fake.stop_count, 1);
  EXPECT_EQ(fake.needs_cuda, 1) << "a session that does not name the GPU leaves a program without CUDA alone";
  ASSERT_TRUE(session.last_trace().has_value());
  EXPECT_EQ(session.last_trace()->counts().gpu_events, 2U);
  EXPECT_EQ(session.last_trace()->counts().calls, 1U);
  EXPECT_EQ(fake.names,
            (std::vector<std::string>{"ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3"}));
}

TEST_F(AgentSourceTest, AGpuThatIsTakenIsAWarningAndOneThatFailsAnError) {
  for (const auto answer : {bridge::GpuAnswer::kBusy, bridge::GpuAnswer::kFailed, bridge::GpuAnswer::kNoCuda}) {
    fake.answer = answer;
    SessionOptions options;
    options.activities = {Activity::kCpu, Activity::kCuda};
    ProfilingSession session(options);
    ASSERT_TRUE(session.start());
    const Status stopped = session.stop();
    EXPECT_EQ(stopped.has_value(), answer != bridge::GpuAnswer::kFailed);
    const std::vector<std::string> warnings = session.warnings();
    EXPECT_EQ(warnings.size(), answer == bridge::GpuAnswer::kBusy ? 1U : 0U);
    if (!warnings.empty()) {
      EXPECT_EQ(warnings[0], "no GPU rows: because");
    }
    EXPECT_EQ(fake.needs_cuda, 0);
    EXPECT_EQ(session.last_trace()->counts().gpu_events, 0U);
  }
  EXPECT_EQ(fake.stop_count, 0);
}

TEST(LoadAgent, WhatIsNoLibraryIsSaid) {
  const Status loaded = load_agent("/nowhere/libstepscope_agent.so");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace stepscope

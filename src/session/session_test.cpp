// What a session does, seen from its handler, its lists and a fake GPU.
#include "stepscope/session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "session/fake_device_source.h"
#include "stepscope/span.h"

namespace stepscope {
namespace {

using Strings = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

Schedule cycles(std::int64_t wait, std::int64_t warmup, std::int64_t active, std::int64_t repeat = 1) {
  return make_schedule({.wait = wait, .warmup = warmup, .active = active, .repeat = repeat}).value();
}

// Runs `count` steps with one span each.
void run(ProfilingSession& session, int count) {
  for (int step = 0; step < count; ++step) {
    {
      const Span span("work");
    }
    session.step();
  }
}

struct Kept {
  std::vector<RecordedTrace> traces;
  TraceHandler handler() {
    return [this](const RecordedTrace& trace) { traces.push_back(trace); };
  }
};

TEST(Session, HandsOverOneTraceACycle) {
  Kept kept;
  ProfilingSession session({.schedule = cycles(1, 1, 2, 2), .on_trace_ready = kept.handler()});
  ASSERT_TRUE(session.start());
  run(session, 10);
  EXPECT_EQ(kept.traces.size(), 2U);
  ASSERT_TRUE(session.stop());
  ASSERT_EQ(kept.traces.size(), 2U);
  EXPECT_EQ(kept.traces[0].steps(), (Steps{2, 3}));
  EXPECT_EQ(kept.traces[1].steps(), (Steps{6, 7}));
  for (const RecordedTrace& trace : kept.traces) {
    EXPECT_EQ(trace.counts().spans, 4U);  // two markers, two of `work`
    EXPECT_EQ(trace.counts().threads, 1U);
    EXPECT_EQ(trace.process_id(), getpid());
    EXPECT_EQ(trace.dropped_count(), 0U);
    EXPECT_EQ(trace.worker_name(), trace.host_name() + "_" + std::to_string(getpid()));
    EXPECT_LE(trace.base_ns(), trace.start_ns());
    EXPECT_LT(trace.start_ns(), trace.end_ns());
  }
  EXPECT_EQ(session.trace_count(), 2);
  EXPECT_EQ(session.step_number(), 10);
  EXPECT_FALSE(session.last_trace());
}

TEST(Session, FollowsTheTransitions) {
  struct Case {
    Schedule schedule;
    int steps;
    Strings asked;
    std::size_t traces;
  };
  using enum ProfilerAction;
  const auto of = [](std::vector<ProfilerAction> actions) {
    return Schedule::from_function([actions](std::int64_t step) { return actions[static_cast<std::size_t>(step)]; });
  };
  const Case cases[] = {
      {cycles(1, 1, 2, 2), 10, {"prepare", "start", "stop", "prepare", "start", "stop"}, 2},
      {cycles(0, 1, 1, 2), 4, {"prepare", "start", "stop", "prepare", "start", "stop"}, 2},
      {cycles(0, 0, 1, 2), 2, {"prepare", "start", "stop", "prepare", "start", "stop"}, 2},
      {Schedule(), 3, {"prepare", "start", "stop"}, 1},
      // The session ends while it waits, warms up, or records.
      {cycles(5, 1, 1), 2, {}, 0},
      {cycles(0, 5, 1), 2, {"prepare", "start", "stop"}, 0},
      {cycles(0, 1, 5), 3, {"prepare", "start", "stop"}, 1},
      // Orders that make no sense.
      {of({kWarmup, kNone, kNone}), 2, {"prepare", "start", "stop"}, 0},
      {of({kRecord, kNone, kNone}), 2, {"prepare", "start", "stop"}, 0},
      {of({kRecord, kWarmup, kRecordAndSave, kNone}), 3, {"prepare", "start", "stop", "start", "stop"}, 1},
  };
  for (const Case& each : cases) {
    FakeDeviceSource device;
    Kept kept;
    ProfilingSession session({.schedule = each.schedule, .on_trace_ready = kept.handler()});
    ASSERT_TRUE(session.start());
    run(session, each.steps);
    ASSERT_TRUE(session.stop());
    EXPECT_EQ(device.asked, each.asked) << each.schedule.to_string() << " steps " << each.steps;
    EXPECT_EQ(kept.traces.size(), each.traces) << each.schedule.to_string() << " steps " << each.steps;
  }
}

TEST(Session, WarnsOfSchedulesThatMakeNoSense) {
  Strings heard;
  ProfilingSession session({.schedule = Schedule::from_function([](std::int64_t step) {
                              return step == 1 ? ProfilerAction::kRecord : ProfilerAction::kNone;
                            }),
                            .on_warning = [&](const std::string& warning) { heard.push_back(warning); }});
  ASSERT_TRUE(session.start());
  run(session, 4);
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.warnings(), Strings{transition_warning(ProfilerAction::kRecord, ProfilerAction::kNone)});
  EXPECT_EQ(heard, session.warnings());

  ProfilingSession unwarmed({.schedule = cycles(0, 0, 1)});
  ASSERT_TRUE(unwarmed.start());
  EXPECT_EQ(unwarmed.warnings(), cycles(0, 0, 1).warnings());
  EXPECT_EQ(unwarmed.warnings().size(), 1U);
  ASSERT_TRUE(unwarmed.stop());
}

TEST(Session, WithoutAScheduleRecordsAllAndMarksNothing) {
  ProfilingSession session({});
  { const Span before("before"); }
  ASSERT_TRUE(session.start());
  EXPECT_EQ(session.action(), ProfilerAction::kRecord);
  run(session, 3);
  EXPECT_FALSE(session.last_trace());
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.action(), ProfilerAction::kNone);
  ASSERT_TRUE(session.last_trace());
  EXPECT_TRUE(session.last_trace()->steps().empty());
  EXPECT_EQ(session.last_trace()->counts().spans, 3U);
}

TEST(Session, LeavesOutTheStepThatNeverEnded) {
  ProfilingSession session({.schedule = cycles(0, 1, 10)});
  ASSERT_TRUE(session.start());
  run(session, 3);
  { const Span span("half a step"); }
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.last_trace()->steps(), (Steps{1, 2}));
  EXPECT_EQ(session.last_trace()->counts().spans, 5U);  // what lay in it stays
}

TEST(Session, CountsSpansThatWereOpenAtTheEnd) {
  ProfilingSession session({});
  ASSERT_TRUE(session.start());
  {
    const Span open("open");
    ASSERT_TRUE(session.stop());
  }
  EXPECT_EQ(session.last_trace()->open_span_count(), 1U);
  EXPECT_EQ(session.last_trace()->counts().spans, 0U);
}

TEST(Session, SumsTheFlopsThatOperatorsTell) {
  for (const bool with_flops : {true, false}) {
    ProfilingSession session({.with_flops = with_flops});
    ASSERT_TRUE(session.start());
    for (int i = 0; i < 3; ++i) const OpSpan op("my::mm", {{2, 3}, {3, 4}}, 2.0 * 2 * 3 * 4);
    { const OpSpan op("my::unknown"); }
    ASSERT_TRUE(session.stop());
    EXPECT_EQ(session.last_trace()->flops(), with_flops ? std::optional(144.0) : std::nullopt);
    EXPECT_EQ(session.last_trace()->counts().operators, 4U);
  }
}

TEST(Session, CountsFlopsThatNestedOperatorsTellOnce) {
  ProfilingSession session({.with_flops = true});
  ASSERT_TRUE(session.start());
  {
    const OpSpan untold("my::block");
    for (int i = 0; i < 2; ++i) {
      const OpSpan whole("my::linear", {}, 100);
      { const OpSpan product("my::mm", {}, 90); }
      { const OpSpan sum("my::add", {}, 10); }
    }
    { const OpSpan nothing("my::view", {}, 0); }
    { const OpSpan after("my::mm", {}, 7); }
  }
  std::thread other([] { const OpSpan op("my::mm", {}, 1000); });
  other.join();
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.last_trace()->flops(), 1207.0);
  EXPECT_EQ(session.last_trace()->counts().operators, 10U);
}

TEST(Session, RefusesASecondOneInTheProcess) {
  ProfilingSession first({.schedule = cycles(5, 1, 1)});
  ASSERT_TRUE(first.start());
  ProfilingSession second({});
  const Status refused = second.start();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("another profiling session"), std::string::npos);
  EXPECT_TRUE(second.stop());
  ASSERT_TRUE(first.stop());
  EXPECT_TRUE(second.start());  // it never began, so it may now
  EXPECT_FALSE(second.start());
  EXPECT_TRUE(second.stop());
  EXPECT_FALSE(second.start());  // it ran already
}

TEST(Session, RefusesWorkerNamesThatAreNoFileNames) {
  ProfilingSession session({.worker_name = "rank/0"});
  const Status refused = session.start();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("rank/0"), std::string::npos);
}

TEST(Session, EndsWithItsScope) {
  Kept kept;
  {
    ProfilingSession session({.on_trace_ready = kept.handler()});
    ASSERT_TRUE(session.start());
    const Span span("work");
  }
  EXPECT_EQ(kept.traces.size(), 1U);
  ProfilingSession next({});
  EXPECT_TRUE(next.start());  // the process is free again
}

TEST(Session, TurnsWhatAHandlerThrowsOrReturnsIntoErrors) {
  const std::pair<TraceHandler, std::string> cases[] = {
      {[](const RecordedTrace&) -> Status {
         return Error{ErrorCode::kIo, "the disk is full", "/traces/a.json", {}};
       },
       "/traces/a.json: the disk is full"},
      {[](const RecordedTrace&) { throw std::runtime_error("no network"); }, "the trace handler threw: no network"},
      {[](const RecordedTrace&) { throw 5; }, "the trace handler threw"},
  };
  for (const auto& [handler, expected] : cases) {
    Strings heard;
    ProfilingSession session({.schedule = cycles(0, 1, 1, 2),
                              .on_trace_ready = handler,
                              .on_error = [&](const Error& error) { heard.push_back(error.to_string()); }});
    ASSERT_TRUE(session.start());
    run(session, 4);
    const Status stopped = session.stop();
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().to_string(), expected);
    EXPECT_EQ(heard, (Strings{expected, expected}));  // the first failure does not end the session
    EXPECT_EQ(session.errors().size(), 2U);
    EXPECT_EQ(session.trace_count(), 2);
  }
}

TEST(Session, OutlivesAScheduleThatThrows) {
  ProfilingSession session({.schedule = Schedule::from_function([](std::int64_t step) -> ProfilerAction {
                              if (step == 1) throw std::out_of_range("step 1");
                              return ProfilerAction::kNone;
                            })});
  ASSERT_TRUE(session.start());
  run(session, 3);
  const Status stopped = session.stop();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "the schedule threw: step 1");
}

TEST(Session, AnswersItsHandlerAndDoesNotDeadlock) {
  ProfilingSession* inner = nullptr;
  std::int64_t seen_step = -1;
  bool was_refused = false;
  ProfilingSession session({.schedule = cycles(0, 1, 1), .on_trace_ready = [&](const RecordedTrace&) {
                              seen_step = inner->step_number();
                              inner->step();
                              was_refused = !inner->stop();
                            }});
  inner = &session;
  ASSERT_TRUE(session.start());
  run(session, 3);
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(seen_step, 2);
  EXPECT_TRUE(was_refused);
  EXPECT_EQ(session.step_number(), 3);
  ASSERT_EQ(session.warnings().size(), 1U);
  EXPECT_NE(session.warnings()[0].find("callback"), std::string::npos);
}

TEST(Session, StepsOutsideOfARunDoNothing) {
  ProfilingSession session({});
  session.step();
  session.step();
  EXPECT_EQ(session.step_number(), 0);
  EXPECT_EQ(session.warnings().size(), 1U);
  EXPECT_TRUE(session.stop());
}

TEST(Session, StepsAndSpansComeFromAnyThread) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 200;
  std::uint64_t work = 0;
  std::uint64_t markers = 0;
  ProfilingSession session({.schedule = cycles(1, 1, 8, 0), .on_trace_ready = [&](const RecordedTrace& trace) {
                              markers += trace.steps().size();
                              work += trace.counts().spans - trace.steps().size();
                            }});
  ASSERT_TRUE(session.start());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] { run(session, kSteps); });
  }
  for (int i = 0; i < 100; ++i) {
    (void)session.step_number();
    (void)session.warnings();
    (void)session.trace_files();
    (void)session.action();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(session.step_number(), kThreads * kSteps);
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(markers, kThreads * kSteps * 8 / 10);
  EXPECT_GT(work, 0U);
  EXPECT_LE(work, kThreads * kSteps);
}

TEST(Session, CudaWithoutASourceIsAWarningAndTheCpuGoesOn) {
  ProfilingSession session({.activities = {Activity::kCpu, Activity::kCuda}});
  ASSERT_TRUE(session.start());
  run(session, 2);
  ASSERT_TRUE(session.stop());
  ASSERT_EQ(session.warnings().size(), 1U);
  EXPECT_NE(session.warnings()[0].find("nothing in this process can listen to a GPU"), std::string::npos);
  EXPECT_EQ(session.last_trace()->counts().spans, 2U);

  ProfilingSession by_default({});
  ASSERT_TRUE(by_default.start());
  ASSERT_TRUE(by_default.stop());
  EXPECT_TRUE(by_default.warnings().empty());
}

TEST(Session, RecordsTheActivitiesAskedFor) {
  FakeDeviceSource device;
  const auto spans_with = [&](std::vector<Activity> activities) {
    ProfilingSession session({.activities = std::move(activities)});
    EXPECT_TRUE(session.start());
    run(session, 2);
    EXPECT_TRUE(session.stop());
    return session.last_trace()->counts().spans;
  };
  EXPECT_EQ(spans_with({Activity::kCpu}), 2U);
  EXPECT_TRUE(device.asked.empty());
  EXPECT_EQ(spans_with({Activity::kCuda}), 0U);
  EXPECT_EQ(device.asked, (Strings{"prepare", "start", "stop"}));
}

TEST(Session, AGpuThatFailsIsAnErrorAndTheCpuGoesOn) {
  for (const char* failing : {"prepare", "start", "stop"}) {
    FakeDeviceSource device;
    device.failing = failing;
    Kept kept;
    ProfilingSession session({.schedule = cycles(0, 1, 1, 2), .on_trace_ready = kept.handler()});
    ASSERT_TRUE(session.start());
    run(session, 4);
    const Status stopped = session.stop();
    ASSERT_FALSE(stopped);
    EXPECT_NE(stopped.error().message.find("fake GPU"), std::string::npos);
    EXPECT_NE(stopped.error().message.find(std::string(failing) + " failed"), std::string::npos);
    EXPECT_EQ(session.errors().size(), 1U) << failing;
    EXPECT_EQ(device.asked.back(), failing);  // and left alone from there on
    ASSERT_EQ(kept.traces.size(), 2U);
    EXPECT_EQ(kept.traces[1].counts().spans, 2U);
  }
}

TEST(Session, SaysWhatDidNotFit) {
  FakeDeviceSource device;
  device.next_recording.dropped_count = 12;
  ProfilingSession session({});
  ASSERT_TRUE(session.start());
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(session.last_trace()->dropped_count(), 12U);
  ASSERT_EQ(session.warnings().size(), 1U);
  EXPECT_EQ(session.warnings()[0].find("12 records"), 0U);
}

// A data loader's worker inherits the session and must neither record nor write.
TEST(Session, IsDeadInAForkedChild) {
  Kept kept;
  ProfilingSession session({.on_trace_ready = kept.handler()});
  ASSERT_TRUE(session.start());
  const pid_t child = fork();
  if (child == 0) {
    session.step();
    const bool is_quiet = session.stop() && kept.traces.empty() && session.step_number() == 0;
    ProfilingSession own({});
    const bool is_free = !own.start() || own.stop();  // refused by the recorder or not, it comes back
    _exit(is_quiet && is_free ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_TRUE(session.stop());
  EXPECT_EQ(kept.traces.size(), 1U);
}

}  // namespace
}  // namespace stepscope

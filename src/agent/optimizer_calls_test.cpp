// What the hooks of torch.optim tell, beside what a PyTorch says by its spans meanwhile. The PyTorch is a fake one.
#include "agent/optimizer_calls.h"

#include <gtest/gtest.h>

#include <thread>

#include "agent/agent_state.h"
#include "agent/capture_test_support.h"
#include "agent/fake_torch.h"
#include "agent/torch_hook.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

constexpr const char* kSgd = "Optimizer.step#SGD.step";

class OptimizerCalls : public testing::Test {
 protected:
  void SetUp() override {
    forget_everything();
    ASSERT_TRUE(attach_torch_library(FakeTorch::library()));
  }
  void TearDown() override {
    finish();
    detach_torch();
    (void)spans();
    forget_everything();
  }
  void start(const char* schedule = "") {
    AgentOptions options;
    options.directory = folder_.path();
    options.schedule = schedule;
    options.start_paused = *schedule == '\0';
    ASSERT_TRUE(arm_with(options));
  }
  // A step() as torch.optim runs it: its span, the hooks inside. `inside` may raise: then no hook comes at the end.
  static std::uint32_t step(std::uint64_t object, const std::function<bool()>& inside = {}, const char* name = kSgd) {
    std::uint32_t open_count = 0;
    FakeTorch::run(TorchScope::kUser, name, [&] {
      open_count = begin_optimizer_step(name, object);
      if (!inside || inside()) end_optimizer_step(object);
    });
    return open_count;
  }
  // What is in the rings and has not been taken by the worker: with it asleep for a second, nearly always all.
  static std::vector<std::string> spans() {
    std::vector<std::string> names;
    drain_events([&](const RingThread&, std::span<const HookEvent> events) {
      for (const HookEvent& event : events) names.emplace_back(name_text(event.name));
    });
    return names;
  }
  // In the file, after finish().
  std::vector<std::string> written() {
    finish();
    const Records records = read_capture(folder_.files().at(0));
    std::vector<std::string> names;
    for (const WireOp& op : records.ops) names.push_back(records.strings.at(op.name));
    return names;
  }
  FakeTorch torch_;
  TestFolder folder_;
};

TEST_F(OptimizerCalls, AtRestNothingIsRegisteredOnceStepsCameByHooks) {
  start();
  EXPECT_EQ(FakeTorch::callback_count(), 1U) << "spans, until it is known what marks steps";
  step(1);
  step(1);
  EXPECT_EQ(FakeTorch::callback_count(), 1U);
  step(1);
  EXPECT_EQ(FakeTorch::callback_count(), 0U);
  ASSERT_TRUE(open_window(3));
  EXPECT_EQ(FakeTorch::callback_count(), 3U);
  step(1);
  ASSERT_TRUE(close_window(3));
  EXPECT_EQ(FakeTorch::callback_count(), 0U);
}

TEST_F(OptimizerCalls, SpansAreHeardAtRestWhereNoHookTells) {
  start();
  for (int i = 0; i < 5; ++i) FakeTorch::run(TorchScope::kUser, kSgd);
  EXPECT_EQ(FakeTorch::callback_count(), 1U);
}

TEST_F(OptimizerCalls, AScheduleRunsWithoutSpans) {
  start("wait=4,warmup=1,active=2,repeat=1");
  std::vector<std::size_t> callback_counts;
  for (int i = 0; i < 9; ++i) {
    step(1);
    callback_counts.push_back(FakeTorch::callback_count());
  }
  EXPECT_EQ(callback_counts, (std::vector<std::size_t>{1, 1, 0, 3, 3, 3, 0, 0, 0}));
}

TEST_F(OptimizerCalls, AStopInAWarmUpLeavesNothingRegistered) {
  start("wait=3,warmup=9,active=1");
  for (int i = 0; i < 3; ++i) step(1);
  EXPECT_EQ(FakeTorch::callback_count(), 3U);
  request_stop("a test");
  step(1);
  EXPECT_EQ(FakeTorch::callback_count(), 0U);
}

TEST_F(OptimizerCalls, EachSpanIsWrittenOnce) {
  start();
  ASSERT_TRUE(open_window(0));
  FakeTorch::run(TorchScope::kUser, "Optimizer.zero_grad#SGD.zero_grad");
  step(1, [] {
    FakeTorch::run(TorchScope::kFunction, "aten::add_");
    return true;
  });
  FakeTorch::run(TorchScope::kUser, kSgd);  // somebody's own span of that name, in which no hook told
  ASSERT_TRUE(close_window(0));
  EXPECT_EQ(written(), (std::vector<std::string>{"Optimizer.zero_grad#SGD.zero_grad", "aten::add_", kSgd, kSgd}));
}

TEST_F(OptimizerCalls, AWindowThatClosesAtTheMarkHasItsSpanOnce) {
  start("wait=1,active=1,repeat=1");
  for (int i = 0; i < 4; ++i) step(1);
  EXPECT_EQ(written(), std::vector<std::string>{kSgd});
}

TEST_F(OptimizerCalls, OnlyTheOutermostEndsAStep) {
  start("wait=3,active=1,repeat=1");
  // A class that calls its base class's step(), and one that steps two others.
  EXPECT_EQ(step(1, [] { return step(1) == 1; }), 0U);
  step(
      2, [] { return step(3) == 1 && step(4) == 1; }, "Optimizer.step#Zero.step");
  EXPECT_FALSE(is_window_open());
  step(1);
  EXPECT_FALSE(is_window_open()) << "two steps: the second optimizer's is in this one";
}

TEST_F(OptimizerCalls, OneThatRaisesIsNoStepAndIsForgotten) {
  start("wait=2,active=9");
  step(1);
  step(1, [] { return false; });
  EXPECT_FALSE(is_window_open());
  EXPECT_EQ(begin_optimizer_step(kSgd, 1), 1U) << "so Python is asked";
  keep_optimizer_steps(0);
  end_optimizer_step(1);
  EXPECT_TRUE(is_window_open());
  EXPECT_EQ(step(1), 0U);
  // Inside another one that goes on.
  step(1, [] {
    step(2, [] { return false; });
    return true;
  });
  EXPECT_EQ(step(1), 0U);
  // Where it is not asked, the same object's end finds its own beginning.
  step(1, [] { return false; });
  EXPECT_EQ(step(1), 1U);
  end_optimizer_step(1);  // nothing is left open for the next test of this thread
  EXPECT_EQ(step(1), 0U);
}

TEST_F(OptimizerCalls, ThreadsAreToldApart) {
  start("wait=2,active=9");
  step(1, [] {
    std::thread([] { EXPECT_EQ(step(2), 0U); }).join();
    return true;
  });
  EXPECT_FALSE(is_window_open()) << "one pass of two";
  step(2);
  step(1);
  EXPECT_TRUE(is_window_open());
}

TEST_F(OptimizerCalls, NobodyIsToldWhereTheUserNamesStepsOrNothingIsCaptured) {
  EXPECT_FALSE(wants_optimizer_steps());
  EXPECT_EQ(step(1), 0U);
  AgentOptions options;
  options.directory = folder_.path();
  options.start_paused = true;
  options.step_name = "train";
  ASSERT_TRUE(arm_with(options));
  EXPECT_FALSE(wants_optimizer_steps());
  for (int i = 0; i < 5; ++i) step(1);
  EXPECT_EQ(FakeTorch::callback_count(), 1U);
}

TEST_F(OptimizerCalls, MoreDeeplyNestedThanThereIsRoom) {
  start();
  const std::function<bool(int)> nest = [&](int depth) {
    if (depth > 0) step(static_cast<std::uint64_t>(depth), [&] { return nest(depth - 1); });
    return true;
  };
  nest(40);
  EXPECT_EQ(step(1), 0U);
}

TEST_F(OptimizerCalls, AnOddOrder) {
  start();
  end_optimizer_step(7);
  keep_optimizer_steps(0);
  keep_optimizer_steps(9);
  EXPECT_EQ(begin_optimizer_step(nullptr, 1), 0U);
  EXPECT_EQ(begin_optimizer_step(kSgd, 1), 0U);
  keep_optimizer_steps(5);
  end_optimizer_step(7);
  end_optimizer_step(1);
  EXPECT_EQ(step(1), 0U);
}

}  // namespace
}  // namespace stepscope::agent

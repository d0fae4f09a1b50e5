#include "agent/torch_hook.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "agent/fake_torch.h"
#include "agent/parts.h"
#include "capture/event_ring.h"

namespace stepscope::agent {
namespace {

struct Got {
  std::string name;
  HookEvent event;
};

class TorchHook : public testing::Test {
 protected:
  void SetUp() override {
    static_cast<void>(drain());
    ASSERT_TRUE(attach_torch_library(FakeTorch::library()));
    hook_events_on = true;
  }
  void TearDown() override {
    detach_torch();
    hook_events_on = false;
    static_cast<void>(drain());
  }
  static std::vector<Got> drain() {
    std::vector<Got> all;
    drain_events([&](const RingThread&, std::span<const HookEvent> events) {
      for (const HookEvent& event : events) all.push_back({std::string(name_text(event.name)), event});
    });
    return all;
  }
  static std::string names() {
    std::string text;
    for (const Got& got : drain()) text += (text.empty() ? "" : " ") + got.name;
    return text;
  }
  FakeTorch fake_;
};

TEST_F(TorchHook, WritesNestedOperatorsAsTheyEnd) {
  set_torch_detail(TorchDetail::kFull);
  FakeTorch::run(TorchScope::kFunction, "aten::linear", [] {
    EXPECT_EQ(name_text(innermost_op()), "aten::linear");
    FakeTorch::run(
        TorchScope::kFunction, "aten::addmm", [] { EXPECT_EQ(name_text(innermost_op()), "aten::addmm"); }, 7);
  });
  EXPECT_EQ(name_text(innermost_op()), "");
  const auto all = drain();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "aten::addmm");
  EXPECT_EQ(all[0].event.a, 8U);
  EXPECT_EQ(all[1].name, "aten::linear");
  EXPECT_EQ(all[1].event.a, 0U);
  EXPECT_LE(all[1].event.start_ns, all[0].event.start_ns);
  EXPECT_GE(all[1].event.end_ns, all[0].event.end_ns);
}

TEST_F(TorchHook, TellsScopesApartAndGivesTheForwardThread) {
  set_torch_detail(TorchDetail::kFull);
  FakeTorch::run(TorchScope::kBackward, "MmBackward0", {}, 4, 1);
  FakeTorch::run(TorchScope::kUser, "my span");
  FakeTorch::run(TorchScope::kFunction, "aten::mm", {}, 4);
  const auto all = drain();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].event.flags, static_cast<int>(WireOpScope::kBackward));
  EXPECT_EQ(all[0].event.b, 2U);
  EXPECT_EQ(all[1].event.flags, static_cast<int>(WireOpScope::kUser));
  EXPECT_EQ(all[2].event.flags, static_cast<int>(WireOpScope::kFunction));
  EXPECT_EQ(all[2].event.b, 0U);
}

TEST_F(TorchHook, RegistersOnlyWhatIsAskedFor) {
  EXPECT_EQ(FakeTorch::callback_count(), 0U);
  set_torch_detail(TorchDetail::kUserScopes);
  EXPECT_EQ(FakeTorch::callback_count(), 1U);
  FakeTorch::run(TorchScope::kFunction, "aten::mm");
  EXPECT_EQ(names(), "");
  set_torch_detail(TorchDetail::kFull);
  set_torch_detail(TorchDetail::kFull);
  EXPECT_EQ(FakeTorch::callback_count(), 3U);
  set_torch_detail(TorchDetail::kOff);
  EXPECT_EQ(FakeTorch::callback_count(), 0U);
}

TEST_F(TorchHook, AWarmUpStepMeetsEveryNameAndWritesNothing) {
  hook_events_on = false;
  set_torch_detail(TorchDetail::kWarmUp);
  EXPECT_EQ(FakeTorch::callback_count(), 3U);
  const std::uint32_t before = intern_name("before the warm-up").value;
  FakeTorch::Record under_way;
  FakeTorch::begin(under_way, TorchScope::kFunction, "warm::op");
  EXPECT_EQ(name_text(innermost_op()), "warm::op");
  FakeTorch::run(TorchScope::kUser, "warm span");
  const std::uint32_t after = intern_name("after the warm-up").value;
  EXPECT_EQ(after, before + 3);
  // The window opens: the same callbacks, and what began before it is left out.
  set_torch_detail(TorchDetail::kFull);
  hook_events_on = true;
  EXPECT_EQ(FakeTorch::callback_count(), 3U);
  FakeTorch::run(TorchScope::kFunction, "warm::op");
  FakeTorch::run(TorchScope::kUser, "warm span");
  FakeTorch::end(under_way);
  EXPECT_EQ(intern_name("after the window").value, after + 1);
  EXPECT_EQ(names(), "warm::op warm span");
}

TEST_F(TorchHook, BetweenWindowsAGraphsCaptureFindsItsOperator) {
  hook_events_on = false;
  set_torch_detail(TorchDetail::kFull);  // --graphs
  FakeTorch::run(TorchScope::kFunction, "aten::mm", [] { EXPECT_EQ(name_text(innermost_op()), "aten::mm"); });
  EXPECT_EQ(names(), "");
}

TEST_F(TorchHook, LetsSpansOverlap) {
  set_torch_detail(TorchDetail::kFull);
  FakeTorch::Record first, second;
  FakeTorch::begin(first, TorchScope::kUser, "first");
  FakeTorch::begin(second, TorchScope::kUser, "second");
  FakeTorch::end(first);
  FakeTorch::end(second);
  EXPECT_EQ(names(), "first second");
}

TEST_F(TorchHook, ForgetsOperatorsThatEndedElsewhere) {
  set_torch_detail(TorchDetail::kFull);
  FakeTorch::Record lost;
  FakeTorch::run(TorchScope::kFunction, "outer", [&] {
    FakeTorch::begin(lost, TorchScope::kFunction, "asynchronous");
    std::thread([&] { FakeTorch::end(lost); }).join();
  });
  EXPECT_EQ(name_text(innermost_op()), "");
  EXPECT_EQ(names(), "outer");
}

TEST_F(TorchHook, NestsDeeplyAndCountsWhatHasNoRoom) {
  set_torch_detail(TorchDetail::kFull);
  const std::uint64_t before = lost_op_count();
  const std::function<void(int)> nest = [&](int depth) {
    if (depth != 0) FakeTorch::run(TorchScope::kFunction, "deep", [&] { nest(depth - 1); });
  };
  nest(1000);
  EXPECT_EQ(drain().size(), 128U);
  EXPECT_EQ(lost_op_count() - before, 1000U - 128U);
  EXPECT_EQ(name_text(innermost_op()), "");
}

TEST_F(TorchHook, SurvivesAWindowThatClosesInsideAnOperator) {
  set_torch_detail(TorchDetail::kFull);
  FakeTorch::run(TorchScope::kFunction, "outer", [&] {
    FakeTorch::run(TorchScope::kFunction, "inner");
    set_torch_detail(TorchDetail::kOff);
  });
  EXPECT_EQ(names(), "inner");
  set_torch_detail(TorchDetail::kFull);
  FakeTorch::run(TorchScope::kFunction, "next");
  EXPECT_EQ(names(), "next");
}

TEST_F(TorchHook, KeepsThreadsApart) {
  set_torch_detail(TorchDetail::kFull);
  FakeTorch::run(TorchScope::kFunction, "main", [] {
    std::thread([] {
      EXPECT_EQ(name_text(innermost_op()), "");
      FakeTorch::run(TorchScope::kFunction, "other", [] { EXPECT_EQ(name_text(innermost_op()), "other"); });
    }).join();
    EXPECT_EQ(name_text(innermost_op()), "main");
  });
  std::vector<std::string> by_thread;
  drain_events([&](const RingThread& thread, std::span<const HookEvent> events) {
    for (const HookEvent& event : events) {
      by_thread.push_back(std::string(name_text(event.name)) + (thread.thread_id == gettid() ? " here" : " there"));
    }
  });
  std::sort(by_thread.begin(), by_thread.end());
  EXPECT_EQ(by_thread, (std::vector<std::string>{"main here", "other there"}));
}

}  // namespace
}  // namespace stepscope::agent

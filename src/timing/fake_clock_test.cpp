// The clocks that the other tests stand on: the fake one does what its script says, the CPU's keeps the contract.
#include "timing/fake_clock.h"

#include <gtest/gtest.h>

namespace stepscope {
namespace {

TEST(FakeClock, TheDeviceWorksBesideTheHostAndInOrder) {
  FakeClock clock;
  const ClockEvent begin = clock.record_event().value();
  clock.launch(1000, 10);
  clock.launch(500, 10);
  const ClockEvent end = clock.record_event().value();
  EXPECT_EQ(clock.host_ns(), 20) << "launches do not block";
  EXPECT_FALSE(clock.elapsed_ns(begin, end).has_value()) << "the end was not reached";
  ASSERT_TRUE(clock.wait_event(end).has_value());
  EXPECT_EQ(clock.host_ns(), 1510) << "the second kernel starts when the first has ended";
  EXPECT_DOUBLE_EQ(clock.elapsed_ns(begin, end).value(), 1510);
}

TEST(FakeClock, WaitingForAnEventWaitsForNothingBehindIt) {
  FakeClock clock;
  clock.launch(100);
  const ClockEvent event = clock.record_event().value();
  clock.launch(1000);
  ASSERT_TRUE(clock.wait_event(event).has_value());
  EXPECT_EQ(clock.host_ns(), 100);
  ASSERT_TRUE(clock.synchronize().has_value());
  EXPECT_EQ(clock.host_ns(), 1100);
}

TEST(FakeClock, EveryCallCostsWhatWasSet) {
  FakeClock clock;
  clock.now_cost_ns = 1;
  clock.synchronize_cost_ns = 10;
  clock.record_cost_ns = 100;
  clock.wait_cost_ns = 1000;
  EXPECT_EQ(clock.now_ns(), 1);
  ASSERT_TRUE(clock.synchronize().has_value());
  const ClockEvent event = clock.record_event().value();
  ASSERT_TRUE(clock.wait_event(event).has_value());
  EXPECT_EQ(clock.host_ns(), 1111);
}

TEST(FakeClock, FailsOnDemandOnceOrForGood) {
  FakeClock clock;
  clock.fail(FakeClock::Call::kSynchronize, 2, Error{ErrorCode::kIo, "kernel failed", ""});
  EXPECT_TRUE(clock.synchronize().has_value());
  const Status failed = clock.synchronize();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().message, "kernel failed");
  EXPECT_TRUE(clock.synchronize().has_value());

  clock.fail(FakeClock::Call::kRecordEvent, 1, Error{ErrorCode::kIo, "context lost", ""}, true);
  EXPECT_FALSE(clock.record_event().has_value());
  EXPECT_FALSE(clock.record_event().has_value());
  EXPECT_FALSE(clock.synchronize().has_value()) << "a sticky error spoils every later call";
}

TEST(FakeClock, KnowsWhichEventsLive) {
  FakeClock clock;
  const ClockEvent first = clock.record_event().value();
  const ClockEvent second = clock.record_event().value();
  EXPECT_NE(first.handle, 0U);
  EXPECT_NE(first.handle, second.handle);
  EXPECT_EQ(clock.live_events(), 2U);
  clock.release_event(first);
  EXPECT_EQ(clock.live_events(), 1U);
  EXPECT_EQ(clock.most_live_events(), 2U);
  EXPECT_FALSE(clock.wait_event(first).has_value());
  EXPECT_FALSE(clock.elapsed_ns(first, second).has_value());
}

TEST(CpuClock, NeverGoesBackAndItsEventsAreReadings) {
  const std::unique_ptr<Clock> clock = make_cpu_clock();
  EXPECT_EQ(clock->name(), "cpu");
  EXPECT_FALSE(clock->is_device());
  const std::int64_t before = clock->now_ns();
  const ClockEvent begin = clock->record_event().value();
  ASSERT_TRUE(clock->synchronize().has_value());
  const ClockEvent end = clock->record_event().value();
  ASSERT_TRUE(clock->wait_event(end).has_value());
  const std::int64_t after = clock->now_ns();
  const double elapsed_ns = clock->elapsed_ns(begin, end).value();
  EXPECT_GE(elapsed_ns, 0);
  EXPECT_LE(elapsed_ns, static_cast<double>(after - before));
  EXPECT_LE(clock->elapsed_ns(end, begin).value(), 0) << "from the later to the earlier is negative";
  clock->release_event(begin);
}

TEST(CpuClock, AnEmptyEventIsAnError) {
  const std::unique_ptr<Clock> clock = make_cpu_clock();
  const ClockEvent event = clock->record_event().value();
  EXPECT_FALSE(clock->wait_event({}).has_value());
  EXPECT_FALSE(clock->elapsed_ns({}, event).has_value());
  EXPECT_FALSE(clock->elapsed_ns(event, {}).has_value());
}

}  // namespace
}  // namespace stepscope

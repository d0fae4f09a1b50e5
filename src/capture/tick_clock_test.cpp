// The counter's arithmetic, and that its time is the system's.
#include "capture/tick_clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <random>

#include "capture/recorder.h"

namespace stepscope {
namespace {

TEST(TickMapping, CountsFromItsBaseBothWays) {
  const TickMapping whole{1000, 5'000'000, 1ULL << 40};
  EXPECT_EQ(whole.to_ns(1000), 5'000'000);
  EXPECT_EQ(whole.to_ns(1007), 5'000'007);
  EXPECT_EQ(whole.to_ns(993), 4'999'993);
  const TickMapping half{0, 1'700'000'000'000'000'000, 1ULL << 39};
  EXPECT_EQ(half.to_ns(3), 1'700'000'000'000'000'001);
  // A year of ticks at 5 GHz.
  const TickMapping fast{0, 0, (1ULL << 40) / 5};
  EXPECT_NEAR(static_cast<double>(fast.to_ns(5ULL * 31'536'000'000'000'000)), 31'536e12, 1e6);
}

TEST(TickMapping, NeverDecreases) {
  std::mt19937_64 random(21);
  for (int i = 0; i < 20'000; ++i) {
    const TickMapping mapping{random(), static_cast<TimeNs>(random() >> 2), (random() % (1ULL << 42)) + 1};
    const std::uint64_t ticks = mapping.base_ticks + (random() >> 4) - (1ULL << 58);
    ASSERT_LE(mapping.to_ns(ticks), mapping.to_ns(ticks + random() % 1000));
  }
}

TEST(TickClock, KnowsTheKernelsList) {
  EXPECT_TRUE(lists_tsc("tsc kvm-clock acpi_pm \n"));
  EXPECT_TRUE(lists_tsc("hpet tsc\n"));
  EXPECT_FALSE(lists_tsc("hyperv_clocksource_tsc_page acpi_pm\n"));
  EXPECT_FALSE(lists_tsc("tsc-early\n"));
  EXPECT_FALSE(lists_tsc("\n"));
  EXPECT_FALSE(lists_tsc(""));
}

TEST(TickClock, ReadsForward) {
  std::uint64_t last = read_ticks();
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t now = read_ticks();
    ASSERT_GE(now, last);
    last = now;
  }
}

TimeNs system_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return TimeNs{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Between two readings of the system's clock, give or take what 500 ppm of slew make of the test's few seconds.
TEST(TickClock, TellsTheSystemsTime) {
  ASSERT_TRUE(start_recorder({}));
  for (int i = 0; i < 100; ++i) {
    const TimeNs before = system_now_ns();
    const TimeNs now = recorder_now_ns();
    const TimeNs after = system_now_ns();
    EXPECT_GE(now, before - 10'000'000);
    EXPECT_LE(now, after + 10'000'000);
  }
  const auto stopped = stop_recorder();
  ASSERT_TRUE(stopped);
  EXPECT_LE(stopped->start_ns, stopped->end_ns);
}

}  // namespace
}  // namespace stepscope

// The counter's arithmetic, and that its time is the system's.
#include "capture/tick_clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <random>

#include "capture/recorder.h"
#include "stepscope/span.h"

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

// Where the processor's counter cannot be trusted. In a process of its own, since the choice is made once.
TEST(TickClock, WorksWithoutTheProcessorsCounter) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        detail::tick_source = TickSource::kMonotonic;
        const TimeNs before = system_now_ns();
        const bool started = start_recorder({}).has_value();
        { const Span span("span"); }
        const auto got = stop_recorder();
        const TimeNs after = system_now_ns();
        const bool is_right = started && got && got->threads.size() == 1 && got->threads[0].records.size() == 1 &&
                              got->threads[0].records[0].start_ns >= before - 1'000'000 &&
                              got->threads[0].records[0].end_ns <= after + 1'000'000;
        std::_Exit(is_right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stepscope

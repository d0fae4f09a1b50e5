// Timer on a scripted clock: which blocks it runs, how long it says they took, and that it always comes to an end.
#include "stepscope/timer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <stdexcept>

#include "timing/fake_clock.h"

namespace stepscope {
namespace {

// Code that launches work: each run costs the host `host_ns` and the device `device_ns`. Remembers every block.
struct Script {
  FakeClock clock;
  std::int64_t device_ns = 0;
  std::int64_t host_ns = 0;
  std::vector<std::int64_t> blocks;

  TimerOptions options() {
    TimerOptions options;
    options.clock = &clock;
    options.num_threads = 0;
    return options;
  }
  BatchCallable code() {
    return {[this](std::int64_t count) {
      blocks.push_back(count);
      clock.advance_host(count * host_ns);
      clock.launch(count * device_ns);
    }};
  }
  Timer timer() { return Timer(code(), options()); }
};

using Blocks = std::vector<std::int64_t>;

TEST(Timer, TimeitWarmsUpAndWaitsForTheDevice) {
  Script script;
  script.device_ns = 700;
  script.host_ns = 5;
  const Measurement m = script.timer().timeit(1000).value();
  EXPECT_EQ(script.blocks, (Blocks{10, 1000}));
  EXPECT_EQ(m.raw_times_ns(), std::vector<double>{1000 * 705.0}) << "launches of 5 us, then 700 us of the device";
  EXPECT_EQ(m.number_per_run(), 1000);
  EXPECT_DOUBLE_EQ(m.median_ns(), 705);
}

TEST(Timer, TimeitWarmsUpAtLeastTwice) {
  Script script;
  script.device_ns = 10;
  ASSERT_TRUE(script.timer().timeit(1).has_value());
  EXPECT_EQ(script.blocks, (Blocks{2, 1}));
  EXPECT_FALSE(script.timer().timeit(0).has_value());
  EXPECT_FALSE(script.timer().timeit(-5).has_value());
}

TEST(Timer, WorkLaunchedBeforeTheBlockIsNotCounted) {
  Script script;
  script.device_ns = 10;
  Timer timer = script.timer();
  script.clock.launch(1'000'000);
  EXPECT_DOUBLE_EQ(timer.timeit(100).value().median_ns(), 10);
}

TEST(Timer, OverheadIsTheMedianOfFiveEmptyBlocks) {
  Script script;
  const std::vector<std::int64_t> costs = {50, 900, 70, 60, 40};
  std::size_t next = 0;
  TimerOptions options = script.options();
  options.setup = [&] { script.clock.now_cost_ns = costs.at(next++); };
  Timer timer(script.code(), options);
  // Two readings a block, of which the second one's cost lies between them.
  EXPECT_DOUBLE_EQ(timer.overhead_ns().value(), 60);
  EXPECT_EQ(script.blocks, (Blocks{0, 0, 0, 0, 0}));
}

TEST(Timer, BlocksGrowTenfoldUntilTheClockIsSmallAgainstThem) {
  Script script;
  script.clock.now_cost_ns = 100;  // so an empty block takes 100, and a block has to last 1 ms at least
  script.device_ns = 1000;
  const Measurement m = script.timer().blocked_autorange(0.01).value();
  Blocks expected = {2, 0, 0, 0, 0, 0, 1, 10, 100, 1000};
  // 1000 runs: 1,000,100 ns, of which 100 are under 1e-4, and over 10 ms / 1000. Ten such blocks fill 10 ms.
  for (int block = 0; block < 10; ++block) expected.push_back(1000);
  EXPECT_EQ(script.blocks, expected);
  EXPECT_EQ(m.raw_times_ns(), std::vector<double>(10, 1'000'100));
  EXPECT_EQ(m.number_per_run(), 1000);
}

TEST(Timer, BlocksAreAThousandthOfTheRunTimeAtLeast) {
  Script script;
  script.device_ns = 1000;  // the clock costs nothing, so only the length of a block counts
  const Measurement m = script.timer().blocked_autorange(1).value();
  EXPECT_EQ(m.number_per_run(), 1000);
  EXPECT_EQ(m.raw_times_ns().size(), 1000U);
}

TEST(Timer, AnOverheadOfExactlyOneTenThousandthIsSmallEnough) {
  Script script;
  script.clock.now_cost_ns = 100;
  script.device_ns = 999'900;  // with the clock's own 100: 1e6
  const Measurement m = script.timer().blocked_autorange(0.01).value();
  EXPECT_EQ(m.number_per_run(), 1);
  Script more;
  more.clock.now_cost_ns = 100;
  more.device_ns = 999'899;
  EXPECT_EQ(more.timer().blocked_autorange(0.01).value().number_per_run(), 10);
}

TEST(Timer, ARunLongerThanTheRunTimeIsABlock) {
  Script script;
  script.clock.now_cost_ns = 1'000'000;  // a clock this slow is never under 1e-4
  script.device_ns = 300'000'000;
  const Measurement m = script.timer().blocked_autorange(0.2).value();
  EXPECT_EQ(m.number_per_run(), 1);
  EXPECT_EQ(m.raw_times_ns().size(), 1U);
}

TEST(Timer, ASlowFirstCallDoesNotDecideTheBlockSize) {
  Script script;
  script.device_ns = 1000;
  bool is_first = true;
  Timer timer(BatchCallable{[&](std::int64_t count) {
                if (is_first) script.clock.advance_host(5'000'000'000);
                is_first = false;
                script.clock.launch(count * 1000);
              }},
              script.options());
  EXPECT_EQ(timer.blocked_autorange(0.2).value().number_per_run(), 1000);
}

TEST(Timer, CallbackSeesEveryMeasuredBlock) {
  Script script;
  script.device_ns = 1'000'000;
  std::vector<std::pair<std::int64_t, double>> seen;
  const Measurement m =
      script.timer()
          .blocked_autorange(0.005, [&](std::int64_t number, double ns) { seen.emplace_back(number, ns); })
          .value();
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen.front(), std::make_pair(std::int64_t{1}, 1e6));
  EXPECT_EQ(m.raw_times_ns().size(), 5U);
}

// Block times follow the list, then its last one for ever; the blocks that size and warm up are not in it.
Result<Measurement> adaptive(std::vector<std::int64_t> times_ns, double threshold, double min_s, double max_s) {
  FakeClock clock;
  TimerOptions options;
  options.clock = &clock;
  options.num_threads = 0;
  std::size_t measured = 0;
  bool is_sizing = true;
  Timer timer(BatchCallable{[&](std::int64_t count) {
                if (count == 0) return;
                if (is_sizing) {
                  clock.advance_host(60'000'000);
                  is_sizing = count != 1;
                  return;
                }
                clock.advance_host(times_ns[std::min(measured++, times_ns.size() - 1)]);
              }},
              options);
  return timer.adaptive_autorange(threshold, min_s, max_s);
}

TEST(Timer, AdaptiveStopsAtTheFourthSteadyBlock) {
  const Measurement m = adaptive({100'000'000}, 0.1, 0.01, 10).value();
  EXPECT_EQ(m.raw_times_ns().size(), 4U);
}

TEST(Timer, AdaptiveGoesOnUntilTheSpreadIsUnderTheThreshold) {
  // Far apart at first: the sample is steady once the equal ones fill its middle half.
  const Measurement m =
      adaptive({100'000'000, 200'000'000, 300'000'000, 400'000'000, 200'000'000}, 0.1, 0.01, 10).value();
  const std::vector<double> times = m.raw_times_ns();
  for (std::size_t count = 4; count <= times.size(); ++count) {
    const Measurement first =
        Measurement::make({}, std::vector<double>(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count)), 1)
            .value();
    EXPECT_EQ(first.meets_confidence(0.1), count == times.size()) << count;
  }
  EXPECT_GT(times.size(), 5U);
}

TEST(Timer, AdaptiveFillsItsLeastTime) {
  const Measurement m = adaptive({100'000'000}, 0.1, 1.0, 10).value();
  EXPECT_EQ(m.raw_times_ns().size(), 10U);
}

TEST(Timer, AdaptiveEndsAfterItsMostTime) {
  std::vector<std::int64_t> wild;
  std::mt19937 random(3);
  for (int block = 0; block < 1000; ++block) wild.push_back(block % 2 == 0 ? 100'000'000 : 900'000'000);
  const Measurement m = adaptive(wild, 0.1, 0.01, 10).value();
  EXPECT_EQ(m.raw_times_ns().size(), 21U) << "20 blocks are 10 s, and not more than 10 s";
  EXPECT_TRUE(m.has_warnings());
  EXPECT_EQ(adaptive({100'000'000}, -1, 0.01, 0.35).value().raw_times_ns().size(), 4U)
      << "a threshold that nothing meets, except no spread at all";
}

TEST(Timer, ACallableThatIgnoresItsCountIsAnErrorAndNoEndlessLoop) {
  Script script;
  script.clock.now_cost_ns = 100;
  const Result<Measurement> none = script.timer().blocked_autorange(0.2);
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(script.blocks.back(), 1'000'000'000'000);
  EXPECT_FALSE(script.timer().adaptive_autorange().has_value());
}

TEST(Timer, BlocksThatBecomeFarShorterComeToAnEnd) {
  FakeClock clock;
  TimerOptions options;
  options.clock = &clock;
  options.num_threads = 0;
  int calls = 0;
  Timer timer(BatchCallable{[&](std::int64_t count) {
                if (count > 0 && ++calls <= 2) clock.advance_host(1'000'000'000);
              }},
              options);
  const Measurement m = timer.blocked_autorange(0.2).value();
  EXPECT_EQ(m.raw_times_ns().size(), 1'000'000U);
  ASSERT_FALSE(m.notes().empty());
  EXPECT_NE(m.notes()[0].find("Stopped after 1,000,000 blocks"), std::string::npos);
}

TEST(Timer, ArgumentsThatMeanNothingAreErrors) {
  Script script;
  script.device_ns = 1000;
  Timer timer = script.timer();
  const double nan = std::nan("");
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, nan, infinite}) {
    EXPECT_FALSE(timer.blocked_autorange(bad).has_value());
    EXPECT_FALSE(timer.adaptive_autorange(0.1, bad).has_value());
    EXPECT_FALSE(timer.adaptive_autorange(0.1, 0.01, bad).has_value());
  }
  EXPECT_FALSE(timer.adaptive_autorange(nan).has_value());
  TimerOptions options = script.options();
  options.num_threads = -1;
  Timer negative(script.code(), options);
  EXPECT_FALSE(negative.timeit(1).has_value());
  EXPECT_FALSE(negative.blocked_autorange().has_value());
  EXPECT_FALSE(negative.adaptive_autorange().has_value());
  EXPECT_TRUE(timer.blocked_autorange(0).has_value()) << "one block is the least";
}

TEST(Timer, AFailedKernelIsTheClocksError) {
  Script script;
  script.device_ns = 1000;
  // Each block waits twice: the warm-up's are calls 1 and 2.
  for (const std::int64_t nth : {1, 2, 3, 4, 15, 16}) {
    script.clock.fail(FakeClock::Call::kSynchronize, nth, Error{ErrorCode::kIo, "illegal memory access", ""});
    const Result<Measurement> failed = script.timer().blocked_autorange(0.001);
    ASSERT_FALSE(failed.has_value()) << nth;
    EXPECT_EQ(failed.error().message, "illegal memory access");
  }
  script.clock.fail(FakeClock::Call::kSynchronize, 3, Error{ErrorCode::kIo, "illegal memory access", ""});
  EXPECT_FALSE(script.timer().timeit(10).has_value());
  EXPECT_TRUE(script.timer().timeit(10).has_value());
}

TEST(Timer, AnExceptionPassesAndTheThreadCountIsRestored) {
  Script script;
  script.device_ns = 1000;
  std::vector<int> counts;
  TimerOptions options = script.options();
  options.num_threads = 3;
  options.set_num_threads = [&](int count) {
    counts.push_back(count);
    return 8;
  };
  bool throws = true;
  Timer timer(
      [&] {
        if (throws) throw std::runtime_error("no");
        script.clock.launch(1000);
      },
      options);
  EXPECT_THROW((void)timer.timeit(5), std::runtime_error);
  EXPECT_EQ(counts, (std::vector<int>{3, 8}));
  EXPECT_THROW((void)timer.blocked_autorange(), std::runtime_error);
  EXPECT_THROW((void)timer.adaptive_autorange(), std::runtime_error);
  EXPECT_EQ(counts.size(), 6U);
  throws = false;
  EXPECT_DOUBLE_EQ(timer.timeit(5).value().median_ns(), 1000) << "the timer works again";
}

TEST(Timer, SetupRunsBeforeEachBlockAndIsNotTimed) {
  Script script;
  script.device_ns = 1'000'000;
  int setups = 0;
  TimerOptions options = script.options();
  options.setup = [&] {
    ++setups;
    script.clock.launch(7'000'000'000);
  };
  Timer timer(script.code(), options);
  EXPECT_DOUBLE_EQ(timer.timeit(5).value().median_ns(), 1e6);
  EXPECT_EQ(setups, 2);
}

TEST(Timer, RunsTheCallableAsOftenAsItSays) {
  FakeClock clock;
  TimerOptions options;
  options.clock = &clock;
  options.num_threads = 0;
  std::int64_t runs = 0;
  Timer with_result([&] { return clock.advance_host(3), ++runs; }, options);
  EXPECT_DOUBLE_EQ(with_result.timeit(500).value().median_ns(), 3);
  EXPECT_EQ(runs, 505);
  Timer move_only([&, owned = std::make_unique<int>(4)]() mutable { clock.advance_host((*owned)++ % 4); }, options);
  EXPECT_DOUBLE_EQ(move_only.timeit(4).value().median_ns(), 1.5);
  Timer moved = std::move(move_only);
  EXPECT_TRUE(moved.timeit(4).has_value());
}

TEST(Timer, TheTaskIsWhatTheOptionsSay) {
  Script script;
  TimerOptions options = script.options();
  options.label = "sort";
  options.sub_label = "std::sort";
  options.description = "n=10";
  options.env = "branch";
  options.statement = "std::sort(v.begin(), v.end())";
  options.setup_text = "shuffle(v)";
  const TaskSpec task = Timer(script.code(), options).timeit(1).value().task();
  EXPECT_EQ(task.title(), "sort: std::sort");
  EXPECT_EQ(task.row_name(), "std::sort");
  EXPECT_EQ(task.description, "n=10");
  EXPECT_EQ(task.env, "branch");
  EXPECT_EQ(task.statement, "std::sort(v.begin(), v.end())");
  EXPECT_EQ(task.setup, "shuffle(v)");
  EXPECT_EQ(task.num_threads, 0);
}

std::unique_ptr<Clock> fake_device() {
  auto clock = std::make_unique<FakeClock>();
  clock->clock_name = "cuda:0 (Fake)";
  clock->now_cost_ns = 10;
  return clock;
}
std::unique_ptr<Clock> fake_host() {
  auto clock = std::make_unique<FakeClock>();
  clock->clock_name = "cpu";
  clock->device = false;
  clock->now_cost_ns = 10;
  return clock;
}

TEST(Timer, AHostClockBesideADeviceInUseIsANote) {
  Script script;
  script.device_ns = 1000;
  script.clock.device = false;
  script.clock.clock_name = "cpu";
  TimerOptions options = script.options();
  options.default_clock = fake_device;
  const Measurement m = Timer(script.code(), options).timeit(10).value();
  ASSERT_EQ(m.notes().size(), 1U);
  EXPECT_EQ(
      m.notes()[0],
      "The clock is the host's (cpu) while this process uses cuda:0 (Fake): launches were timed, not the work that "
      "they start.");
  options.default_clock = fake_host;
  EXPECT_TRUE(Timer(script.code(), options).timeit(10).value().notes().empty());
}

TEST(Timer, TheDefaultClockIsAskedAgainAfterTheWarmUp) {
  bool is_started = false;
  TimerOptions options;
  options.num_threads = 0;
  options.default_clock = [&] { return is_started ? fake_device() : fake_host(); };
  Timer timer([&] { is_started = true; }, options);
  const Measurement m = timer.timeit(1).value();
  EXPECT_TRUE(m.notes().empty()) << "the code's first call started the device, and the timer noticed";
}

TEST(Timer, WithoutADefaultClockThereIsTheHosts) {
  TimerOptions options;
  options.num_threads = 0;
  options.default_clock = nullptr;
  EXPECT_TRUE(Timer([] {}, options).timeit(1).has_value());
  options.default_clock = [] { return std::unique_ptr<Clock>(); };
  EXPECT_TRUE(Timer([] {}, options).timeit(1).has_value());
}

TEST(Timer, LaunchBlockingSpoilsDeviceTimes) {
  Script script;
  script.device_ns = 1000;
  ::setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  const Measurement spoiled = script.timer().timeit(10).value();
  script.clock.device = false;
  TimerOptions options = script.options();
  options.default_clock = fake_host;
  const Measurement host_only = Timer(script.code(), options).timeit(10).value();
  ::unsetenv("CUDA_LAUNCH_BLOCKING");
  ASSERT_EQ(spoiled.notes().size(), 1U);
  EXPECT_NE(spoiled.notes()[0].find("CUDA_LAUNCH_BLOCKING"), std::string::npos);
  EXPECT_NE(spoiled.to_string().find("WARNING: "), std::string::npos);
  EXPECT_TRUE(host_only.notes().empty()) << "no device, nothing to spoil";
}

// Random costs of clock and code against the rule, read once more.
TEST(Timer, BlockSizesFollowTheRuleForRandomCosts) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    Script script;
    script.clock.now_cost_ns = static_cast<std::int64_t>(1 + random() % 20'000);
    script.clock.synchronize_cost_ns = static_cast<std::int64_t>(random() % 20'000);
    script.device_ns = static_cast<std::int64_t>(1 + random() % (round % 2 == 0 ? 1'000 : 10'000'000));
    const double min_s = 1e-4 * static_cast<double>(1 + random() % 1000);
    const Result<Measurement> m = script.timer().blocked_autorange(min_s);
    ASSERT_TRUE(m.has_value());
    const double overhead = static_cast<double>(script.clock.now_cost_ns + script.clock.synchronize_cost_ns);
    std::int64_t number = 1;
    const auto block = [&] { return overhead + static_cast<double>(number * script.device_ns); };
    while (!((overhead / block() <= 1e-4 && block() >= min_s * 1e6) || block() > min_s * 1e9)) number *= 10;
    EXPECT_EQ(m->number_per_run(), number);
    const auto count = static_cast<std::size_t>(std::ceil(min_s * 1e9 / block()));
    EXPECT_EQ(m->raw_times_ns().size(), count);
    EXPECT_DOUBLE_EQ(m->raw_times_ns().front(), block());
  }
}

TEST(DoNotOptimize, TakesWhatCodeReturns) {
  do_not_optimize(3);
  do_not_optimize(2.5F);
  do_not_optimize(std::string("a string"));
  do_not_optimize(std::vector<int>{1, 2});
  do_not_optimize(nullptr);
  const int array[100] = {1};
  do_not_optimize(array);
  clobber_memory();
}

TEST(Timer, NothingToCallIsAnErrorOfEveryMethod) {
  Timer batch{BatchCallable{}};
  Timer function{std::function<int()>{}};
  Timer pointer{static_cast<void (*)()>(nullptr)};
  for (Timer* const timer : {&batch, &function, &pointer}) {
    for (const auto& failed : {timer->timeit(1), timer->blocked_autorange(), timer->adaptive_autorange()}) {
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(failed.error().message, "there is nothing to time: the callable is empty");
    }
    EXPECT_FALSE(timer->overhead_ns());
  }
}

}  // namespace
}  // namespace stepscope

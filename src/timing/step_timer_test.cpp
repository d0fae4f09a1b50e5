// StepTimer on a scripted device: the times of steps, which waits it makes, and that no event is lost.
#include "stepscope/step_timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>
#include <sstream>
#include <stdexcept>

#include "timing/fake_clock.h"

namespace stepscope {
namespace {

using Times = std::vector<std::int64_t>;
using Call = FakeClock::Call;

StepTimerOptions options_of(FakeClock& clock, std::int64_t warmup_steps = 0) {
  StepTimerOptions options;
  options.clock = &clock;
  options.warmup_steps = warmup_steps;
  return options;
}

TEST(StepTimer, StepsAreTimedOnTheDevice) {
  FakeClock clock;
  StepTimer timer(options_of(clock, 2));
  for (const std::int64_t ns : {900, 500, 100, 110, 105}) {
    ASSERT_TRUE(timer.begin_step().has_value());
    clock.launch(ns);
    ASSERT_TRUE(timer.end_step().has_value());
    clock.advance_host(1'000'000);  // between steps the program may do what it likes
  }
  const StepTimes times = timer.times().value();
  EXPECT_EQ(times.warmup_ns, (Times{900, 500}));
  EXPECT_EQ(times.steps_ns, (Times{100, 110, 105}));
  EXPECT_EQ(times.median_ns(), 105);
  EXPECT_EQ(times.clock, "fake");
  EXPECT_TRUE(times.waited_for_each);
  EXPECT_TRUE(times.data_ns.empty());
  EXPECT_FALSE(times.data_median_ns().has_value());
  EXPECT_TRUE(times.outliers.empty());
}

TEST(StepTimer, WaitsForTheEndOfEachStepAndNothingElse) {
  FakeClock clock;
  StepTimer timer(options_of(clock, 1));
  for (int step = 0; step < 10; ++step) {
    const auto scope = timer.step();
    clock.launch(1000);
  }
  EXPECT_EQ(clock.calls(Call::kWaitEvent), 10);
  ASSERT_TRUE(timer.times().has_value());
  EXPECT_EQ(clock.calls(Call::kWaitEvent), 10);
  EXPECT_EQ(clock.calls(Call::kSynchronize), 0);
  EXPECT_EQ(clock.calls(Call::kRecordEvent), 20);
  EXPECT_EQ(clock.most_live_events(), 2U);
  EXPECT_EQ(clock.live_events(), 0U);
}

TEST(StepTimer, DeferredTheHostRunsAhead) {
  const auto run = [](std::int64_t pending_steps, FakeClock& clock) {
    StepTimerOptions options = options_of(clock, 1);
    options.pending_steps = pending_steps;
    StepTimer timer(options);
    for (int step = 0; step < 20; ++step) {
      const auto scope = timer.step();
      clock.launch(1000, 800);  // the host launches for 800 ns what takes 1000
    }
    return timer.times().value();
  };
  FakeClock waiting;
  const StepTimes waited = run(0, waiting);
  EXPECT_EQ(waited.steps_ns, Times(19, 1800)) << "each step begins on an idle device and host";
  FakeClock free;
  const StepTimes deferred = run(StepTimerOptions::kAllPending, free);
  EXPECT_EQ(deferred.steps_ns, Times(19, 1000)) << "launches lie under the step before";
  EXPECT_FALSE(deferred.waited_for_each);
  EXPECT_EQ(free.most_live_events(), 40U);
  EXPECT_EQ(free.host_ns(), 20'800);
  FakeClock some;
  const StepTimes bounded = run(3, some);
  EXPECT_EQ(bounded.steps_ns, deferred.steps_ns);
  EXPECT_EQ(some.most_live_events(), 8U) << "three pending steps and the one that has just ended";
}

TEST(StepTimer, TheMedianIsAnElementAndPercentilesInterpolate) {
  FakeClock clock;
  StepTimer timer(options_of(clock));
  for (const std::int64_t ns : {40, 10, 30, 20}) {
    const auto scope = timer.step();
    clock.launch(ns);
  }
  const StepTimes times = timer.times().value();
  EXPECT_EQ(times.median_ns(), 30) << "element 4 / 2 of 10 20 30 40";
  EXPECT_EQ(times.p10_ns(), 13);
  EXPECT_EQ(times.p90_ns(), 37);
}

TEST(StepTimer, P10MedianAndP90AreInOrderForEveryNumberOfSteps) {
  std::mt19937 random(18);
  for (std::size_t count = 1; count <= 40; ++count) {
    for (int round = 0; round < 20; ++round) {
      StepTimes times;
      for (std::size_t step = 0; step < count; ++step) {
        times.steps_ns.push_back(static_cast<std::int64_t>(random() % 1000) * (random() % 5 == 0 ? 1000 : 1));
        times.data_ns.push_back(static_cast<std::int64_t>(random() % 3));
      }
      EXPECT_LE(times.p10_ns(), times.median_ns()) << count << " steps";
      EXPECT_LE(times.median_ns(), times.p90_ns()) << count << " steps";
      EXPECT_LE(times.data_p10_ns(), times.data_median_ns()) << count << " steps";
      EXPECT_LE(times.data_median_ns(), times.data_p90_ns()) << count << " steps";
    }
  }
  StepTimes two;
  two.steps_ns = {30, 10};
  EXPECT_EQ(two.p10_ns(), 12);
  EXPECT_EQ(two.median_ns(), 30);
  EXPECT_EQ(two.p90_ns(), 30);
}

TEST(StepTimer, OutliersAreNamedByTheirStep) {
  FakeClock clock;
  StepTimer timer(options_of(clock, 2));
  for (const std::int64_t ns : {5000, 5000, 100, 100, 150, 149, 100, 700}) {
    const auto scope = timer.step();
    clock.launch(ns);
  }
  const StepTimes times = timer.times().value();
  EXPECT_EQ(times.typical_ns, 100);
  ASSERT_EQ(times.outliers.size(), 2U);
  EXPECT_EQ(times.outliers[0].step, 4);
  EXPECT_EQ(times.outliers[0].duration_ns, 150);
  EXPECT_EQ(times.outliers[1].step, 7);
  EXPECT_EQ(times.outliers[1].duration_ns, 700);
}

TEST(StepTimer, DataIsTimedOnTheHostAndApart) {
  FakeClock clock;
  StepTimer timer(options_of(clock, 1));
  const std::vector<std::int64_t> fetch_ns = {9000, 50, 60};
  auto at = fetch_ns.begin();
  const auto fetch = [&] {
    clock.advance_host(*at);
    return *at++;
  };
  for (int step = 0; step < 3; ++step) {
    const std::int64_t batch = timer.time_data(fetch);
    const auto scope = timer.step();
    clock.launch(batch * 10);
  }
  const StepTimes times = timer.times().value();
  EXPECT_EQ(times.data_ns, (Times{50, 60}));
  EXPECT_EQ(times.steps_ns, (Times{500, 600}));
  EXPECT_EQ(times.data_median_ns(), 60);
  EXPECT_EQ(times.data_p10_ns(), 51);
  EXPECT_EQ(times.data_p90_ns(), 60) << "never below the median";
}

TEST(StepTimer, DataFetchedInAStepBelongsToTheNext) {
  FakeClock clock;
  StepTimer timer(options_of(clock));
  for (int step = 0; step < 3; ++step) {
    const auto scope = timer.step();
    clock.launch(100);
    timer.time_data([&] { clock.advance_host(step + 1); });
  }
  EXPECT_EQ(timer.times().value().data_ns, (Times{0, 1, 2}));
}

TEST(StepTimer, NextMovesAnIteratorOn) {
  FakeClock clock;
  StepTimer timer(options_of(clock));
  const std::list<std::string> batches = {"a", "b"};
  std::string seen;
  for (auto at = batches.begin(); auto batch = timer.next(at, batches.end());) {
    const auto scope = timer.step();
    seen += *batch;
    clock.launch(5);
  }
  EXPECT_EQ(seen, "ab");
  const StepTimes times = timer.times().value();
  EXPECT_EQ(times.steps_ns, (Times{5, 5}));
  EXPECT_EQ(times.data_ns, (Times{0, 0}));
}

TEST(StepTimer, AStepThatThrowsIsNotCounted) {
  FakeClock clock;
  StepTimer timer(options_of(clock));
  for (int step = 0; step < 4; ++step) {
    try {
      const auto scope = timer.step();
      clock.launch(100 + step);
      if (step == 2) throw std::runtime_error("no");
    } catch (const std::runtime_error&) {
    }
  }
  EXPECT_EQ(timer.times().value().steps_ns, (Times{100, 101, 103}))
      << "what it launched lies before the event of the step that follows";
  EXPECT_EQ(clock.live_events(), 0U);
}

TEST(StepTimer, MisuseIsAnErrorThatStays) {
  FakeClock clock;
  StepTimer twice(options_of(clock));
  ASSERT_TRUE(twice.begin_step().has_value());
  EXPECT_FALSE(twice.begin_step().has_value());
  EXPECT_FALSE(twice.end_step().has_value());
  EXPECT_EQ(twice.times().error().code, ErrorCode::kInvalidArgument);
  StepTimer ended(options_of(clock));
  EXPECT_FALSE(ended.end_step().has_value());
  EXPECT_FALSE(ended.times().has_value());
  StepTimer none(options_of(clock));
  EXPECT_FALSE(none.times().has_value()) << "no step";
  StepTimerOptions negative = options_of(clock, -1);
  EXPECT_FALSE(StepTimer(negative).begin_step().has_value());
}

TEST(StepTimer, MoreStepsMayFollowAnAnswer) {
  FakeClock clock;
  StepTimer timer(options_of(clock, 2));
  const auto step = [&] {
    const auto scope = timer.step();
    clock.launch(10);
  };
  step();
  step();
  const Result<StepTimes> early = timer.times();
  ASSERT_FALSE(early.has_value());
  EXPECT_EQ(early.error().message, "2 steps were timed, and the first 2 are warm-up: nothing is left to report");
  step();
  EXPECT_EQ(timer.times().value().steps_ns, Times{10});
  step();
  EXPECT_EQ(timer.times().value().steps_ns, (Times{10, 10}));
}

TEST(StepTimer, TheClocksErrorComesBackFromEveryPlace) {
  for (const Call call : {Call::kRecordEvent, Call::kWaitEvent, Call::kElapsed}) {
    for (const std::int64_t nth : {1, 2, 5}) {
      FakeClock clock;
      clock.fail(call, nth, Error{ErrorCode::kIo, "illegal memory access", ""}, true);
      {
        StepTimer timer(options_of(clock));
        for (int step = 0; step < 6; ++step) {
          const auto scope = timer.step();
          clock.launch(10);
        }
        const Result<StepTimes> failed = timer.times();
        ASSERT_FALSE(failed.has_value());
        EXPECT_EQ(failed.error().message, "illegal memory access");
      }
      EXPECT_EQ(clock.live_events(), 0U) << "events are given back, also after an error";
      FakeClock again;
      again.fail(call, nth, Error{ErrorCode::kIo, "illegal memory access", ""});
      EXPECT_FALSE(time_steps([&] { again.launch(10); }, options_of(again)).has_value());
      EXPECT_EQ(again.live_events(), 0U);
    }
  }
}

std::unique_ptr<Clock> fake_device() {
  auto clock = std::make_unique<FakeClock>();
  clock->clock_name = "cuda:0 (Fake)";
  return clock;
}

TEST(StepTimer, TheDefaultClockIsAskedAgainWhileWarmingUp) {
  bool is_started = false;
  StepTimerOptions options;
  options.warmup_steps = 2;
  options.steps = 3;
  options.pending_steps = StepTimerOptions::kAllPending;
  options.default_clock = [&] { return is_started ? fake_device() : make_cpu_clock(); };
  const StepTimes times = time_steps([&] { is_started = true; }, options).value();
  EXPECT_EQ(times.clock, "cuda:0 (Fake)");
  EXPECT_EQ(times.steps_ns, (Times{0, 0, 0}));
  EXPECT_EQ(times.warmup_ns.size(), 2U);
  EXPECT_TRUE(times.warnings.empty());
}

TEST(StepTimer, AHostClockBesideADeviceInUseIsAWarning) {
  FakeClock clock;
  clock.device = false;
  StepTimerOptions options = options_of(clock);
  options.default_clock = fake_device;
  const StepTimes times = time_steps([&] { clock.advance_host(10); }, options).value();
  ASSERT_EQ(times.warnings.size(), 1U);
  EXPECT_NE(times.to_string().find("WARNING: The clock is the host's (fake)"), std::string::npos);
}

TEST(TimeSteps, WarmsUpAndMeasuresTwentyUnlessTold) {
  FakeClock clock;
  std::vector<std::int64_t> numbers;
  StepTimerOptions options = options_of(clock, 3);
  const auto step = [&](std::int64_t number) {
    numbers.push_back(number);
    clock.launch(number * 10);
  };
  const StepTimes twenty = time_steps(step, options).value();
  EXPECT_EQ(twenty.steps_ns.size(), 20U);
  EXPECT_EQ(numbers.size(), 23U);
  EXPECT_EQ(numbers.back(), 22);
  EXPECT_EQ(twenty.steps_ns.front(), 30);
  options.steps = 2;
  EXPECT_EQ(time_steps([&] { clock.launch(7); }, options).value().steps_ns, (Times{7, 7}));
}

TEST(TimeSteps, OptionsThatMeanNothingAreErrors) {
  FakeClock clock;
  int calls = 0;
  const auto step = [&] { ++calls; };
  StepTimerOptions options = options_of(clock);
  options.steps = 0;
  EXPECT_FALSE(time_steps(step, options).has_value());
  options.steps = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(time_steps(step, options).has_value());
  options = options_of(clock, -1);
  EXPECT_FALSE(time_steps(step, options).has_value());
  options = options_of(clock);
  options.pending_steps = -1;
  EXPECT_FALSE(time_steps(step, options).has_value());
  EXPECT_FALSE(time_steps(
                   std::vector<int>{1, 2}, [&](int) { ++calls; }, options)
                   .has_value());
  EXPECT_EQ(calls, 0);
}

// A loader whose elements cost the host time when it moves on, as a generator does.
struct Loader {
  FakeClock* clock;
  std::vector<std::int64_t> fetch_ns;
  int reads = 0;

  struct Iterator {
    using value_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    Loader* loader = nullptr;
    std::size_t at = 0;

    std::size_t operator*() const { return at; }
    Iterator& operator++() {
      loader->load(++at);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return at == loader->fetch_ns.size(); }
  };
  void load(std::size_t index) {
    ++reads;
    if (index < fetch_ns.size()) clock->advance_host(fetch_ns[index]);
  }
  Iterator begin() {
    load(0);
    return {this, 0};
  }
  std::default_sentinel_t end() const { return {}; }
};

TEST(TimeSteps, ARangesElementsAreDataOfTheirStep) {
  FakeClock clock;
  Loader loader{&clock, {1000, 11, 22, 33}};
  std::vector<std::size_t> seen;
  const StepTimes times = time_steps(
                              loader,
                              [&](std::size_t batch) {
                                seen.push_back(batch);
                                clock.launch(100 + static_cast<std::int64_t>(batch));
                              },
                              options_of(clock, 1))
                              .value();
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(times.data_ns, (Times{11, 22, 33}));
  EXPECT_EQ(times.steps_ns, (Times{101, 102, 103}));
}

TEST(TimeSteps, NoElementIsFetchedThatNoStepUses) {
  FakeClock clock;
  Loader loader{&clock, {1, 2, 3, 4, 5, 6}};
  StepTimerOptions options = options_of(clock, 1);
  options.steps = 2;
  EXPECT_EQ(time_steps(
                loader, [&](std::size_t) { clock.launch(9); }, options)
                .value()
                .data_ns,
            (Times{2, 3}));
  EXPECT_EQ(loader.reads, 3);
}

TEST(TimeSteps, RangesOfOtherKinds) {
  FakeClock clock;
  std::istringstream numbers("5 6 7");
  const StepTimes streamed =
      time_steps(
          std::ranges::istream_view<int>(numbers), [&](int ns) { clock.launch(ns); }, options_of(clock))
          .value();
  EXPECT_EQ(streamed.steps_ns, (Times{5, 6, 7}));
  std::vector<std::unique_ptr<int>> owners;
  owners.push_back(std::make_unique<int>(4));
  EXPECT_EQ(time_steps(
                owners, [&](std::unique_ptr<int>& own) { clock.launch(*own); }, options_of(clock))
                .value()
                .steps_ns,
            Times{4});
  EXPECT_FALSE(time_steps(
                   std::vector<int>{}, [](int) {}, options_of(clock))
                   .has_value())
      << "nothing to report";
}

// Random steps against the definitions, read once more.
TEST(StepTimer, RandomStepsAgreeWithTheDefinitions) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    FakeClock clock;
    const auto warmup = static_cast<std::int64_t>(random() % 5);
    StepTimerOptions options = options_of(clock, warmup);
    options.pending_steps = static_cast<std::int64_t>(random() % 4);
    StepTimer timer(options);
    Times device_ns;
    Times data_ns;
    const std::size_t count = static_cast<std::size_t>(warmup) + 1 + random() % 50;
    for (std::size_t step = 0; step < count; ++step) {
      device_ns.push_back(1000 + static_cast<std::int64_t>(random() % 600) + (random() % 10 == 0 ? 2000 : 0));
      data_ns.push_back(static_cast<std::int64_t>(random() % 5000));
      timer.time_data([&] { clock.advance_host(data_ns.back()); });
      const auto scope = timer.step();
      clock.launch(device_ns.back());
    }
    const StepTimes times = timer.times().value();
    const auto tail = [&](const Times& all) { return Times(all.begin() + warmup, all.end()); };
    ASSERT_EQ(times.steps_ns, tail(device_ns));
    ASSERT_EQ(times.data_ns, tail(data_ns));
    Times sorted = times.steps_ns;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(times.median_ns(), sorted[sorted.size() / 2]);
    const auto at = [&](double q) {
      const double place = q * static_cast<double>(sorted.size() - 1);
      const double below = static_cast<double>(sorted[static_cast<std::size_t>(place)]);
      const double above = static_cast<double>(sorted[static_cast<std::size_t>(std::ceil(place))]);
      return below + (above - below) * (place - std::floor(place));
    };
    EXPECT_NEAR(static_cast<double>(times.p10_ns()), at(0.1), 0.51);
    EXPECT_NEAR(static_cast<double>(times.p90_ns()), std::max(at(0.9), static_cast<double>(times.median_ns())), 0.51);
    Times others(sorted.begin(), sorted.end() - 1);
    std::vector<std::int64_t> outliers;
    if (sorted.size() >= 3) {
      const double middle = static_cast<double>(others[(others.size() - 1) / 2] + others[others.size() / 2]) / 2;
      const auto limit = static_cast<std::int64_t>(1.5 * std::round(middle));
      for (std::size_t index = 0; index < times.steps_ns.size(); ++index) {
        if (times.steps_ns[index] >= limit) outliers.push_back(warmup + static_cast<std::int64_t>(index));
      }
    }
    ASSERT_EQ(times.outliers.size(), outliers.size());
    for (std::size_t index = 0; index < outliers.size(); ++index) {
      EXPECT_EQ(times.outliers[index].step, outliers[index]);
      EXPECT_EQ(times.outliers[index].duration_ns, device_ns[static_cast<std::size_t>(outliers[index])]);
    }
  }
}

TEST(StepTimes, AsText) {
  StepTimes times;
  times.clock = "cuda:0 (NVIDIA H200)";
  times.warmup_ns = {2'100'000'000, 44'000'000};
  times.steps_ns = {43'510'000, 43'200'000, 97'100'000, 44'020'000, 43'600'000};
  times.data_ns = {1'210'000, 1'100'000, 12'000'000, 1'300'000, 1'000'000};
  times.outliers = {{4, 97'100'000}};
  times.typical_ns = 43'555'000;
  times.warnings = {"CUDA_LAUNCH_BLOCKING=1 is set: each launch waits for its kernel, so these times are too long"};
  EXPECT_EQ(times.to_string(), R"(5 steps after 2 warm-up steps, clock cuda:0 (NVIDIA H200)
  step  median 43.60 ms, p10 43.32 ms, p90 75.87 ms
  data  median 1.21 ms, p10 1.04 ms, p90 7.72 ms (host, before the step)
  1 outlier, at least 1.5 times the 43.55 ms of the others:
    step 4: 97.10 ms
  WARNING: CUDA_LAUNCH_BLOCKING=1 is set: each launch waits for its kernel, so
           these times are too long
)");
}

TEST(StepTimes, ManyOutliersAreWrappedAndCounted) {
  StepTimes times;
  times.clock = "cpu";
  times.waited_for_each = false;
  times.typical_ns = 100;
  for (std::int64_t step = 0; step < 40; ++step) {
    times.steps_ns.push_back(step % 3 == 1 ? 200 + step : 100);
    if (step % 3 == 1) times.outliers.push_back({step, 200 + step});
  }
  EXPECT_EQ(times.to_string(7), R"(40 steps after 0 warm-up steps, clock cpu, deferred
  step  median 100.00 ns, p10 100.00 ns, p90 225.00 ns
  13 outliers, at least 1.5 times the 100.00 ns of the others:
    step 19: 219.00 ns, step 22: 222.00 ns, step 25: 225.00 ns,
    step 28: 228.00 ns, step 31: 231.00 ns, step 34: 234.00 ns,
    step 37: 237.00 ns, and 6 shorter
)");
}

}  // namespace
}  // namespace stepscope

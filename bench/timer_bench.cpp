// What a Timer adds to what it measures: to each run, to each block, and to a step.
//
// The times are those that the Timer itself reports (manual time), beside the same loop written by hand and beside what
// a call through std::function in each run would add. `one_run_between_two_readings` is the naive `t1 - t0` of nothing
// at all: what it shows is the clock. Read the medians of the repetitions: a neighbour on the machine moves the means.
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <random>

#include "stepscope/step_timer.h"
#include "stepscope/timer.h"
#include "timing/fake_clock.h"

namespace stepscope {
namespace {

constexpr std::int64_t kRuns = 1'000'000;

TimerOptions plain_options(Clock& clock) {
  TimerOptions options;
  options.clock = &clock;
  options.num_threads = 0;
  return options;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void report_timer(benchmark::State& state, Timer& timer) {
  for (auto _ : state) {
    const Result<Measurement> measured = timer.timeit(kRuns);
    if (!measured) return state.SkipWithError(measured.error().message.c_str());
    state.SetIterationTime(measured->median_ns() * 1e-9);
  }
}

void timer_empty_run(benchmark::State& state) {
  const auto clock = make_cpu_clock();
  Timer timer([] {}, plain_options(*clock));
  report_timer(state, timer);
}
BENCHMARK(timer_empty_run)->UseManualTime()->Iterations(1)->Repetitions(201)->ReportAggregatesOnly();

void timer_run_through_function(benchmark::State& state) {
  const auto clock = make_cpu_clock();
  const std::function<void()> function = [] { clobber_memory(); };
  Timer timer(function, plain_options(*clock));
  report_timer(state, timer);
}
BENCHMARK(timer_run_through_function)->UseManualTime()->Iterations(1)->Repetitions(201)->ReportAggregatesOnly();

// What adaptive_autorange spends on its own for each block while the spread does not settle: blocks of a scripted
// clock, as many as `state.range(0)` seconds hold.
void adaptive_block(benchmark::State& state) {
  for (auto _ : state) {
    FakeClock clock;
    std::mt19937 random(1);
    BatchCallable body;
    body.run = [&](std::int64_t count) {
      if (count > 0) clock.advance_host(50'000 + static_cast<std::int64_t>(random() % 20'000));
    };
    Timer timer(std::move(body), plain_options(clock));
    const auto begin = std::chrono::steady_clock::now();
    const Result<Measurement> measured = timer.adaptive_autorange(0, 0.01, static_cast<double>(state.range(0)));
    if (!measured) return state.SkipWithError(measured.error().message.c_str());
    state.SetIterationTime(seconds_since(begin) / static_cast<double>(measured->raw_times_ns().size()));
  }
}
BENCHMARK(adaptive_block)->Arg(10)->Arg(60)->UseManualTime()->Iterations(1);

void hand_written_loop_run(benchmark::State& state) {
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t run = 0; run < kRuns; ++run) clobber_memory();
    state.SetIterationTime(seconds_since(begin) / static_cast<double>(kRuns));
  }
}
BENCHMARK(hand_written_loop_run)->UseManualTime()->Iterations(1)->Repetitions(201)->ReportAggregatesOnly();

void timer_empty_block(benchmark::State& state) {
  const auto clock = make_cpu_clock();
  Timer timer([] {}, plain_options(*clock));
  for (auto _ : state) state.SetIterationTime(timer.overhead_ns().value() * 1e-9);
}
BENCHMARK(timer_empty_block)->UseManualTime()->Iterations(100)->Repetitions(51)->ReportAggregatesOnly();

void one_run_between_two_readings(benchmark::State& state) {
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    clobber_memory();
    state.SetIterationTime(seconds_since(begin));
  }
}
BENCHMARK(one_run_between_two_readings)->UseManualTime()->Iterations(100)->Repetitions(51)->ReportAggregatesOnly();

// All of it: two blocks, the thread count, the notes, the measurement.
void timeit_of_one_run(benchmark::State& state) {
  const auto clock = make_cpu_clock();
  Timer timer([] {}, plain_options(*clock));
  for (auto _ : state) benchmark::DoNotOptimize(timer.timeit(1));
}
BENCHMARK(timeit_of_one_run)->Iterations(100)->Repetitions(51)->ReportAggregatesOnly();

void step_timer_step(benchmark::State& state) {
  const auto clock = make_cpu_clock();
  StepTimerOptions options;
  options.clock = clock.get();
  StepTimer timer(options);
  for (auto _ : state) const auto step = timer.step();
}
BENCHMARK(step_timer_step)->Iterations(1000)->Repetitions(51)->ReportAggregatesOnly();

}  // namespace
}  // namespace stepscope

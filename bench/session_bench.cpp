// What step() of a C++ session costs the training loop: while nothing is recorded, with markers, and asking the
// schedule alone; docs/performance.md, "Spans", has the table.
//
// The number of steps is fixed, so that the markers of a recording stay below its memory; that nothing was dropped and
// every step has its marker is checked at the end.
#include <benchmark/benchmark.h>

#include "stepscope/schedule.h"
#include "stepscope/session.h"

namespace stepscope {
namespace {

constexpr std::int64_t kSteps = 200'000;

SessionOptions cpu_only(const ScheduleParameters& parameters) {
  SessionOptions options;
  options.activities = {Activity::kCpu};
  options.schedule = *make_schedule(parameters);
  return options;
}

// `markers`: how many steps the trace must name.
void run_steps(benchmark::State& state, SessionOptions options, std::size_t markers) {
  ProfilingSession session(std::move(options));
  if (!session.start()) return state.SkipWithError("no session");
  for (auto _ : state) session.step();
  if (!session.stop()) return state.SkipWithError("the session failed");
  const auto trace = session.last_trace();
  if (markers == 0 ? trace.has_value() : !trace || trace->steps().size() != markers) {
    state.SkipWithError("not the steps that were made");
  }
}

// Most steps of most programs.
void step_that_is_skipped(benchmark::State& state) {
  run_steps(state, cpu_only({.skip_first = 2 * kSteps, .active = 1}), 0);
}
// In a wait of a cycle: the schedule is asked the same.
void step_that_waits(benchmark::State& state) { run_steps(state, cpu_only({.wait = 2 * kSteps, .active = 1}), 0); }
void step_that_is_recorded(benchmark::State& state) {
  run_steps(state, cpu_only({.active = 2 * kSteps}), static_cast<std::size_t>(kSteps));
}
// A session without a schedule has no markers.
void step_without_schedule(benchmark::State& state) {
  SessionOptions options;
  options.activities = {Activity::kCpu};
  ProfilingSession session(options);
  if (!session.start()) return state.SkipWithError("no session");
  for (auto _ : state) session.step();
  if (!session.stop()) state.SkipWithError("the session failed");
}

void schedule_alone(benchmark::State& state) {
  const Schedule schedule = *make_schedule({.skip_first = 10, .wait = 5, .warmup = 2, .active = 3, .repeat = 2});
  std::int64_t step = 0;
  for (auto _ : state) benchmark::DoNotOptimize(schedule.action(++step % 40));
}

BENCHMARK(step_that_is_skipped)->Iterations(kSteps);
BENCHMARK(step_that_waits)->Iterations(kSteps);
BENCHMARK(step_that_is_recorded)->Iterations(kSteps);
BENCHMARK(step_without_schedule)->Iterations(kSteps);
BENCHMARK(schedule_alone);

}  // namespace
}  // namespace stepscope

// Uses each public header once, as a program outside the project would; the exit status says which answer was wrong.
#include <stepscope/clock.h>
#include <stepscope/cold_timer.h>
#include <stepscope/compare.h>
#include <stepscope/efficiency.h>
#include <stepscope/measurement.h>
#include <stepscope/memory_stats.h>
#include <stepscope/profile_steps.h>
#include <stepscope/result.h>
#include <stepscope/schedule.h>
#include <stepscope/session.h>
#include <stepscope/span.h>
#include <stepscope/step_timer.h>
#include <stepscope/timer.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <vector>

namespace {

double work(std::size_t count) {
  STEPSCOPE_SPAN("work");
  std::vector<double> values(count, 1.5);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Ways that the answers can be wrong, each with a number of its own.
int check_clocks() {
  // A CUDA clock on a machine without a GPU is an error to handle, not a program that does not start.
  const auto cuda = stepscope::open_cuda_clock();
  if (!cuda && cuda.error().message.empty()) return 1;
  const auto clock = stepscope::make_default_clock();
  if (!clock->synchronize()) return 2;
  std::printf("clock: %s\n", clock->name().c_str());
  const auto kernel = stepscope::time_cold([] {});
  if (!cuda && kernel.has_value()) return 3;
  if (!cuda && stepscope::max_memory_allocated()) return 4;  // unknown is not 0
  return 0;
}

int check_timers() {
  stepscope::Timer timer([] { stepscope::do_not_optimize(work(1000)); }, {.label = "work"});
  const auto measured = timer.blocked_autorange(0.01);
  if (!measured || !(measured->median_ns() > 0)) return 5;
  stepscope::Compare compare({*measured});
  if (compare.to_string().find("work") == std::string::npos) return 6;
  const auto steps = stepscope::time_steps([] { stepscope::do_not_optimize(work(1000)); });
  return steps ? 0 : 7;
}

int check_session() {
  const auto profiled = stepscope::profile_steps([](std::int64_t) { stepscope::do_not_optimize(work(1000)); });
  if (!profiled || profiled->trace_files.size() != 1) return 8;
  std::ifstream file(profiled->trace_files.front());
  return file.good() ? 0 : 9;
}

int check_numbers() {
  const auto schedule = stepscope::make_schedule({.wait = 1, .warmup = 1, .active = 2, .repeat = 1});
  if (!schedule || schedule->action(3) != stepscope::ProfilerAction::kRecordAndSave) return 10;
  const auto ratio = stepscope::mfu(7e9, 0, 0, 0, 2e6, 9.0, 64, 989e12);
  if (!ratio || std::abs(*ratio - 0.1475) > 5e-5) return 11;
  return stepscope::mfu(7e9, 0, 0, 0, 2e6, 9.0, 0, 989e12).has_value() ? 12 : 0;
}

}  // namespace

int main() {
  for (int (*check)() : {check_clocks, check_timers, check_session, check_numbers}) {
    if (const int wrong = check(); wrong != 0) return wrong;
  }
  return 0;
}

// The loop around a session. How many steps a schedule needs is its definition read backwards: docs/glossary.md,
// "schedule".
#include "stepscope/profile_steps.h"

#include <optional>

namespace stepscope {
namespace {

// Steps up to the end of the last cycle; missing if there are more than a number can hold.
std::optional<std::int64_t> count_steps(const ScheduleParameters& schedule) {
  std::int64_t cycle = 0;
  std::int64_t count = 0;
  if (__builtin_add_overflow(schedule.wait, schedule.warmup, &cycle) ||
      __builtin_add_overflow(cycle, schedule.active, &cycle) ||
      __builtin_mul_overflow(cycle, schedule.repeat, &count) ||
      __builtin_add_overflow(count, schedule.skip_first, &count)) {
    return std::nullopt;
  }
  return count - (schedule.skip_first_wait ? schedule.wait : 0);
}

Error wrong(std::string sentence) { return {ErrorCode::kInvalidArgument, std::move(sentence), {}, {}}; }

Result<std::int64_t> steps_to_run(const ProfileStepsOptions& options) {
  if (options.step_count < 0) return wrong("step_count is " + std::to_string(options.step_count) + ", below 0");
  if (options.step_count > 0) return options.step_count;
  if (options.schedule.repeat == 0) {
    return wrong("a schedule with repeat = 0 has no end: give repeat, or step_count");
  }
  const std::optional<std::int64_t> count = count_steps(options.schedule);
  if (!count) return wrong("the schedule has more steps than can be counted");
  return *count;
}

}  // namespace

Result<ProfileStepsResult> profile_steps(const std::function<void(std::int64_t step)>& step_fn,
                                         const ProfileStepsOptions& options) {
  if (!step_fn) return wrong("step_fn is empty: there is no step to run");
  const Result<Schedule> schedule = make_schedule(options.schedule);
  if (!schedule) return schedule.error();
  const Result<std::int64_t> step_count = steps_to_run(options);
  if (!step_count) return step_count.error();

  SessionOptions session_options = options.session;
  session_options.schedule = *schedule;
  if (!session_options.on_trace_ready) session_options.on_trace_ready = directory_handler(options.directory);
  ProfilingSession session(std::move(session_options));
  if (const Status started = session.start(); !started) return started.error();
  for (std::int64_t step = 0; step < *step_count; ++step) {
    step_fn(step);
    session.step();
  }
  if (const Status stopped = session.stop(); !stopped) return stopped.error();
  return ProfileStepsResult{.trace_files = session.trace_files(),
                            .step_count = *step_count,
                            .trace_count = session.trace_count(),
                            .warnings = session.warnings()};
}

}  // namespace stepscope

// Schedules: which steps of a training run are recorded, since recording all of them costs time and memory.
//
// A cycle is `wait` steps of nothing, `warmup` steps in which the tracing is switched on and its records are thrown
// away (the first traced step pays for setting up), then `active` steps that are kept; the last of them ends a trace.
// The rules and the meaning of each change from one action to the next are those of torch.profiler.schedule, so that
// a schedule that is right there is right here. Values: docs/glossary.md, "schedule".
//
//     auto schedule = stepscope::make_schedule({.skip_first = 10, .wait = 5, .warmup = 2, .active = 3, .repeat = 2});
//     if (!schedule) { std::cerr << schedule.error().message << '\n'; return 1; }
//     for (std::int64_t step = 0; step < 30; ++step) {
//       std::cout << step << ' ' << stepscope::action_name(schedule->action(step)) << '\n';
//     }
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/result.h"

namespace stepscope {

enum class ProfilerAction : std::uint8_t {
  kNone,           // nothing is traced
  kWarmup,         // traced, thrown away
  kRecord,         // traced and kept
  kRecordAndSave,  // traced and kept; the trace is ready at the end of this step
};

// "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE".
[[nodiscard]] std::string_view action_name(ProfilerAction action);

// Counts of steps, each 0 or more; `active` has no default that works, it has to be 1 or more.
struct ScheduleParameters {
  std::int64_t skip_first = 0;   // steps before the first cycle, once
  std::int64_t wait = 0;         // per cycle
  std::int64_t warmup = 0;       // per cycle
  std::int64_t active = 0;       // per cycle
  std::int64_t repeat = 0;       // cycles; 0: until the program ends
  bool skip_first_wait = false;  // the first cycle goes without its `wait` steps
  bool operator==(const ScheduleParameters&) const = default;
};

// A value: copy it freely. Without parameters every step is RECORD, there are no cycles, and steps get no markers.
class Schedule {
 public:
  using Function = std::function<ProfilerAction(std::int64_t step)>;

  // Records every step.
  Schedule() = default;
  // Asks `function` for each step, from 0 on. For rules that no cycle expresses.
  [[nodiscard]] static Schedule from_function(Function function);

  // What happens in step `step`, counted from 0. Steps below 0 do not exist: kNone.
  [[nodiscard]] ProfilerAction action(std::int64_t step) const;

  // True of a default-made one.
  [[nodiscard]] bool records_always() const { return !parameters_ && !function_; }
  // Empty when it records always or was made from a function.
  [[nodiscard]] const std::optional<ScheduleParameters>& parameters() const { return parameters_; }
  // What is allowed and still probably not meant (no warm-up), one sentence each.
  [[nodiscard]] std::vector<std::string> warnings() const;
  // "skip=10,wait=5,warmup=2,active=3,repeat=2" and ",skip_first_wait=1" if so, which parse_schedule reads back;
  // "always"; "function".
  [[nodiscard]] std::string to_string() const;

 private:
  friend Result<Schedule> make_schedule(const ScheduleParameters& parameters);
  std::optional<ScheduleParameters> parameters_;
  Function function_;
};

// Errors (kInvalidArgument): a negative count, active below 1.
[[nodiscard]] Result<Schedule> make_schedule(const ScheduleParameters& parameters);

// Reads `key=count` pairs joined by commas, in any order: skip (or skip_first), wait, warmup, active, repeat,
// skip_first_wait (0 or 1). Only active has to be there. "always" is the schedule without parameters.
// Errors (kInvalidArgument) name the key: unknown, twice, no whole number, too large, or refused by make_schedule.
[[nodiscard]] Result<Schedule> parse_schedule(std::string_view text);

// What a profiler does between two steps.
enum class ProfilerOperation : std::uint8_t {
  kWarn,        // the order of actions makes no sense; transition_warning() says why
  kPrepare,     // do what is slow the first time
  kStart,       // begin to keep records
  kStop,        // no longer
  kTraceReady,  // hand the trace to the handlers
};

// The operations for going from the action of one step to that of the next, in the order in which to do them; `next` is
// empty at the end of the session. A session begins with the transition from kNone to the action of step 0.
[[nodiscard]] std::span<const ProfilerOperation> transition(ProfilerAction previous,
                                                            std::optional<ProfilerAction> next);
// A sentence for a transition that holds kWarn; empty for the others. Only schedules made from a function have one.
[[nodiscard]] std::string transition_warning(ProfilerAction previous, std::optional<ProfilerAction> next);

}  // namespace stepscope

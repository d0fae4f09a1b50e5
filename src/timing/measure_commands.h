// Runs one command, or two in turns, often enough to compare them: warm-up, order, when to stop, what ends it early.
//
// Two commands are never measured one after the other: a machine that grows slower in between (heat, a neighbour) would
// look like a difference. They take turns in blocks A B B A or B A A B, drawn by a seed, so that a steady drift cancels
// within a block, no command is always the first, and a rhythm of the machine cannot fall in step with ours. Runs k of
// both stand next to each other in time: they are a pair (stats/compare_samples.h).
//
// Stopping when the difference looks significant was rejected: looking again and again finds one in noise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/result.h"
#include "timing/process_run.h"

namespace stepscope {

struct MeasurePlan {
  std::int64_t warm_up_count = 1;           // runs of each command before, not counted: files get cached
  std::optional<std::int64_t> run_count{};  // of each command; else as min_time_ns says
  // Goes on until the runs of a command took so long on average, and each ran 10 times: an interval needs 6 runs
  // (least_sample_count), and gets some sense with 10.
  std::int64_t min_time_ns = 3'000'000'000;
  std::uint64_t seed = 1;
  bool ignore_failure = false;
};

inline constexpr std::int64_t kLeastRuns = 10;

struct CommandRun {
  ProcessRun run;
  std::int64_t order = 0;  // among the counted runs of all commands, from 0
};

// A command that failed, or could not be started.
struct CommandFailure {
  std::size_t command = 0;
  bool in_warm_up = false;
  std::optional<Error> error;     // it could not be started
  std::optional<ProcessRun> run;  // it ran
};

struct CommandTimes {
  std::vector<std::vector<CommandRun>> runs;  // of each command
  std::optional<CommandFailure> failure;      // why it ended early
  std::optional<int> interrupted_by;          // a signal; the run that it ended does not count
};

struct MeasureProgress {
  std::size_t command = 0;
  bool in_warm_up = false;
  std::int64_t done_count = 0;            // counted runs of all commands
  std::int64_t done_ns = 0;               // their wall time
  std::optional<std::int64_t> all_count;  // of all commands, where it is known
  std::int64_t all_ns = 0;                // else: at least so much wall time
};

// `report` is called before each run. `commands` has one or two.
[[nodiscard]] CommandTimes measure_commands(const std::vector<ProcessCommand>& commands, const MeasurePlan& plan,
                                            ProcessRunner& runner,
                                            const std::function<void(const MeasureProgress&)>& report);

// What starting and ending a process that does nothing takes here: the median of 20 runs of `true`, or of `sh -c :`.
// Missing when there is no such program or somebody interrupted.
[[nodiscard]] std::optional<std::int64_t> measure_empty_command(ProcessRunner& runner, bool by_shell);

}  // namespace stepscope

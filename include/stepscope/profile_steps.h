// A loop profiled in one call: runs the steps that a schedule needs, records them, says where the files are.
//
//     auto profiled = stepscope::profile_steps([&](std::int64_t step) { train_step(batches[step]); });
//     if (!profiled) { std::cerr << profiled.error().to_string() << '\n'; return 1; }
//     for (const std::string& file : profiled->trace_files) std::cout << "stepscope report " << file << '\n';
//
// For a loop of your own, use ProfilingSession (stepscope/session.h), of which this is the short form.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stepscope/result.h"
#include "stepscope/schedule.h"
#include "stepscope/session.h"

namespace stepscope {

struct ProfileStepsOptions {
  // The first steps of a program are unlike the rest, so some go by before three are recorded.
  ScheduleParameters schedule{.skip_first = 2, .wait = 0, .warmup = 1, .active = 3, .repeat = 1};
  // How many steps to run; 0: up to the end of the schedule's last cycle.
  std::int64_t step_count = 0;
  // Where the trace files go (directory_handler), unless session.on_trace_ready is set.
  std::string directory = "traces";
  // Everything else. Its schedule is not used.
  SessionOptions session{};
};

struct ProfileStepsResult {
  std::vector<std::string> trace_files;
  std::int64_t step_count = 0;   // steps run
  std::int64_t trace_count = 0;  // cycles recorded
  std::vector<std::string> warnings;
};

// Calls step_fn(0), step_fn(1), ... on the calling thread. What step_fn throws ends the loop, is recorded up to there
// and comes out of here as it was thrown. Errors: an empty step_fn; a schedule that is none, or without an end (repeat
// = 0) when step_count is 0 (kInvalidArgument); those of ProfilingSession::start(); the first that happened on the way,
// a file that could not be written for instance. All steps run in that case too.
[[nodiscard]] Result<ProfileStepsResult> profile_steps(const std::function<void(std::int64_t step)>& step_fn,
                                                       const ProfileStepsOptions& options = {});

}  // namespace stepscope

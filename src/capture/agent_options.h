// What `stepscope run` asks of the agent, and how it travels: as environment variables, since the agent is in another
// process.
//
// One struct with one reader and one writer, so that the program and the agent cannot disagree. STEPSCOPE_AGENT_OPTIONS
// holds everything as `key=value;key=value`; unknown keys are errors that name the key (an old agent beside a new
// program).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stepscope/result.h"
#include "stepscope/schedule.h"

namespace stepscope {

struct AgentOptions {
  std::string directory = ".";  // capture files: HOST_PID[_rankR].STARTNS.stepscope
  std::string schedule{};       // text form of Schedule; empty: record everything
  std::uint64_t every = 0;      // N: 3 active steps in each N; 0: not asked
  std::string step_name{};      // span that marks a step; empty: ProfilerStep, then optimizer steps, then repetition
  bool shapes = false;
  bool stacks = true;
  bool graphs = false;
  bool memory = false;
  bool allocations = false;  // what PyTorch's allocators give out and take back, each of them
  bool gpu = true;
  bool follow_children = false;     // record forked children too
  bool start_paused = false;        // wait for `stepscope ctl start`
  std::uint64_t toggle_signal = 0;  // number of the signal that opens and closes windows; 0: none
  std::uint64_t max_memory_bytes = std::uint64_t{256} << 20;
  std::uint64_t max_file_bytes = std::uint64_t{8} << 30;
  std::string control_socket{};  // path; empty: none
};

inline constexpr const char* kAgentOptionsVariable = "STEPSCOPE_AGENT_OPTIONS";

[[nodiscard]] std::string format_agent_options(const AgentOptions& options);
[[nodiscard]] Result<AgentOptions> parse_agent_options(std::string_view text);

}  // namespace stepscope

// What a capture says of the process it was taken from: host, command, rank, and the name of its file.
#pragma once

#include <string>

#include "capture/agent_options.h"
#include "wire/records.h"

namespace stepscope::agent {

// The process is a new one from now on: the agent was loaded into it (by itself, at its load), or it was forked.
void begin_process() noexcept;

// Rank, size and local rank from torchrun's, Open MPI's, MPICH's or Slurm's variables, in this order; missing: none.
[[nodiscard]] CaptureInfo describe_process(const AgentOptions& options, TimeNs start_ns);
// DIRECTORY/HOST_PID[_rankR].STARTNS.stepscope
[[nodiscard]] std::string capture_path(const AgentOptions& options, const CaptureInfo& info);

}  // namespace stepscope::agent

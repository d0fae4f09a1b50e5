// A capture that the program itself begins and ends, with a file of its own: what `stepscope.torch.profile` is made of.
//
// `stepscope run` has one capture a process, from its options in the environment to the exit. A profiler object inside
// the program wants one for each of its cycles, finished and readable when it says so. Both are the same agent: what is
// attached (torch's hook, CUPTI) stays attached, the state and the worker are new for each. The agent must have been
// loaded before; it need not be preloaded.
//
// One at a time, and none in a process that `stepscope run` captures.
#pragma once

#include <string>
#include <string_view>

namespace stepscope::agent {

// `options` as STEPSCOPE_AGENT_OPTIONS; start_paused is implied: windows are opened by open_window() or a request.
// False: nothing was begun, `problem` says why.
bool begin_capture(std::string_view options, std::string& problem) noexcept;
// Closes the window, writes everything. The path of the file; empty: none was begun, nothing was recorded, or the file
// could not be finished (`problem` says so).
[[nodiscard]] std::string end_capture(std::string& problem) noexcept;

}  // namespace stepscope::agent

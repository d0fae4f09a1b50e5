// What an agent says about itself while it runs, to `stepscope run` and `stepscope ctl`: how many steps and windows.
//
// The agent is in another process, and there may be hundreds of them (ranks, workers), so each has files of its own,
// named by its process id, in a directory that only the user may enter: PID.sock, on which it takes requests, and
// PID.status, which stays when the process is gone, however it went. Text, one `key=value` a line; unknown keys are
// skipped, so that an older program can ask a newer agent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/id.h"

namespace stepscope {

struct AgentStatus {
  std::int64_t process_id = 0;
  MaybeInt rank;
  std::uint64_t step_count = 0;    // steps whose end was seen
  std::uint64_t window_count = 0;  // windows opened so far
  bool window_is_open = false;
  bool is_paused = false;  // waits for a request to start
  bool is_over = false;    // the process ended in order
  std::string step_name;   // what marks the steps; empty: nothing did so far
  std::string directory;   // where its capture goes
  bool operator==(const AgentStatus&) const = default;
};

[[nodiscard]] std::string format_agent_status(const AgentStatus& status);
[[nodiscard]] AgentStatus parse_agent_status(std::string_view text);

// AgentOptions::control_socket for one process: "%p" stands for its id.
[[nodiscard]] std::string agent_socket_path(std::string_view pattern, std::int64_t process_id);
// The file beside the socket.
[[nodiscard]] std::string agent_status_path(std::string_view socket_path);

}  // namespace stepscope

// What came of it: the captures of one run's processes, or the reason why there are none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capture/agent_status.h"

namespace stepscope {

// A folder that only the user may enter, for the sockets and status files of one run's agents: in $XDG_RUNTIME_DIR,
// else in $TMPDIR or /tmp. Removed at the end unless an agent still runs there.
class AgentFolder {
 public:
  AgentFolder();
  ~AgentFolder();
  AgentFolder(const AgentFolder&) = delete;
  AgentFolder& operator=(const AgentFolder&) = delete;

  // For AgentOptions::control_socket; empty: no folder could be had.
  [[nodiscard]] std::string socket_pattern() const;
  // Of every agent that was active, whether its process still is or not.
  [[nodiscard]] std::vector<AgentStatus> read_all() const;

 private:
  std::string path_;
};

// File names in `directory` that end in ".stepscope"; those of memory snapshots in ".pickle".
inline constexpr const char* kCaptureEnding = ".stepscope";
inline constexpr const char* kSnapshotEnding = ".pickle";
[[nodiscard]] std::vector<std::string> list_captures(const std::string& directory, const char* ending = kCaptureEnding);

// Of `now`, those that were not there `before` and belong to one of `agents`, or to another host (whose agents' status
// files are not here). Two runs into one directory so keep theirs apart.
[[nodiscard]] std::vector<std::string> captures_of_run(const std::vector<std::string>& before,
                                                       const std::vector<std::string>& now,
                                                       const std::vector<AgentStatus>& agents,
                                                       const std::string& host_name);

struct WhatWasAsked {
  std::string step_name;      // --step; empty: none
  bool has_schedule = false;  // windows wait for steps
  bool start_paused = false;
};
// One sentence: why there is no capture.
[[nodiscard]] std::string why_nothing(const std::vector<AgentStatus>& agents, const std::string& not_preloaded,
                                      const WhatWasAsked& asked);
// What --step named and no process had; empty if one had it, or none was asked for.
[[nodiscard]] std::string step_not_seen(const std::vector<AgentStatus>& agents, const WhatWasAsked& asked);

}  // namespace stepscope

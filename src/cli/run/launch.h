// Starting the user's program and standing aside: it gets our terminal, streams and process group, and every signal
// that asked us for something.
//
// The timing room's ProcessRunner was rejected here: it gives the command a process group of its own and an empty
// standard input, since it measures; here the program must notice nothing. Signals are taken one at a time with
// sigwaitinfo, so no handler runs. What the terminal sends (Ctrl-C, Ctrl-\) reaches the whole group, the program too,
// and is not sent on a second time.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stepscope {

struct LaunchRequest {
  std::string path;  // of the file to execute
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE
};

struct LaunchEnd {
  std::optional<int> exit_status;
  std::optional<int> signal;        // it died of this one
  int start_error = 0;              // errno: it was not started
  std::optional<int> asked_to_end;  // the first of SIGINT, SIGTERM, SIGHUP, SIGQUIT that came
};

// Takes the signals until it is destroyed, so that none ends us between the program's end and our last word.
class SignalRelay {
 public:
  SignalRelay();
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // Blocks until the program ended. `stdout_to_stderr`: for what we run ourselves.
  [[nodiscard]] LaunchEnd run(const LaunchRequest& request, bool stdout_to_stderr = false);
};

// Ends this process as the program ended: the same status, or death by the same signal (without a core dump of ours).
// Returns the status to exit with where that is not possible.
[[nodiscard]] int end_like(const LaunchEnd& end);

}  // namespace stepscope

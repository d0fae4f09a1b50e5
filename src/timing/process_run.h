// Runs a command once and measures it: wall time, CPU time of it and its children, peak memory, how it ended.
//
// The child is made with posix_spawn (clone with CLONE_VFORK: no page tables are copied, so a large parent costs
// nothing; fork was measured 20 times slower from a parent of 50 MB). Wall time goes from before the spawn to after
// wait4, on the monotonic clock, so it contains what starting a process costs; measure_empty_command says how much that
// is. Nothing is subtracted.
//
// While the child runs, the parent sleeps in ppoll: until the child ends, writes to its standard error, or the user
// interrupts. A thread that reads, and a file that grows, were rejected for that pipe.
//
// Known limit: Linux hands the peak memory of the parent down to a child that is made this way, so a child smaller than
// this process has no peak of its own; max_rss_bytes is missing then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace stepscope {

struct ProcessCommand {
  std::vector<std::string> argv;  // at least the program, which is looked up in PATH
  bool show_output = false;       // else standard output is discarded and of standard error the end is kept
};

struct ProcessRun {
  std::int64_t wall_ns = 0;
  std::int64_t user_ns = 0;  // of the command and of the children that it waited for
  std::int64_t system_ns = 0;
  std::optional<std::int64_t> max_rss_bytes;  // missing: at most hidden_rss_bytes()
  std::optional<int> exit_status;             // missing: ended by a signal
  std::optional<int> signal;
  std::string stderr_end;  // at most 4 KiB

  [[nodiscard]] bool succeeded() const { return exit_status == 0; }
};

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;

  // Blocks until the command ended. Standard input is /dev/null. The command gets a process group of its own, and
  // default reactions to the signals that this process catches or ignores. Errors: kNotFound and kPermission when it
  // cannot be started; kUnsupported when it stopped because it wanted the terminal.
  virtual Result<ProcessRun> run(const ProcessCommand& command) = 0;

  // The signal that asked to end (SIGINT, SIGTERM, SIGHUP, SIGQUIT), if one came. It was passed on to the command's
  // group; a second one, or 2 s without an end, killed it.
  [[nodiscard]] virtual std::optional<int> interrupted_by() const = 0;
};

// Catches those signals and SIGCHLD until it is destroyed; one at a time in a process, used by one thread. A signal
// that was ignored stays ignored.
[[nodiscard]] Result<std::unique_ptr<ProcessRunner>> make_process_runner();

// A peak up to this cannot be told from the one that a child gets from this process: its own peak and 1 MiB, since the
// kernel counts pages for each CPU by itself and adds up coarsely.
[[nodiscard]] std::int64_t hidden_rss_bytes();

}  // namespace stepscope

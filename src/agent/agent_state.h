// What the agent of this process is doing, and the steps of its life. Each process has its own: a forked child starts
// with a new one, since the old one's mutexes may be held by threads that the child does not have.
//
//   nothing -> ready (options read) -> active (worker runs, controller decides) -> over (exit) | disarmed (a failure)
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "agent/parts.h"
#include "agent/worker.h"

namespace stepscope::agent {

class Gpu;

struct AgentState {
  std::mutex arming;  // one arm() at a time
  bool options_read = false;
  bool is_wanted = false;              // the environment asks for a capture
  std::atomic<bool> is_active{false};  // the worker looks at it too
  bool has_spoken = false;             // the line on stderr
  AgentOptions options;
  bool has_unfinished_worker = false;  // finish() gave up on it
  bool is_own_capture = false;         // begun by the program (own_capture.h)
  std::string capture_path;            // the worker's, until it has finished

  // The program uses CUDA and the GPU is to be recorded: CUPTI is loaded when the first window needs it. Once windows
  // can open it changes under `window`, so that none attaches while CUDA waits for us in the middle of its start.
  std::atomic<bool> wants_gpu{false};
  const Gpu* described_gpu = nullptr;  // by the file; under `window`

  std::mutex window;  // opening and closing
  bool is_warmed_up = false;
  bool hears_spans = true;  // of the program, while no window is open
  std::atomic<bool> window_is_open{false};
  TimeNs window_start_ns = 0;
  std::int64_t window_first_step = -1;

  std::atomic<bool> session_has_gpu{false};  // a session of the program; changed under `window`: none is open then

  std::atomic<bool> is_disarmed{false};
  std::mutex forking;                    // one fork() at a time; `worker` neither comes nor goes meanwhile
  std::atomic<Worker*> worker{nullptr};  // never destroyed while its thread may run
};

[[nodiscard]] AgentState& state() noexcept;
// Starts the worker and the controller, and sees to the end of the process. Under state().arming.
bool activate(AgentState& agent);
// Sees to it that finish() is called before CUDA ends.
void end_at_exit();
// What of PyTorch is heard outside windows: the spans that may mark steps, or nothing; with graphs all operators, since
// a graph may be captured there. Under state().window, or before a window can open.
void listen_between_windows(const AgentState& agent) noexcept;
// window.cpp: attaches CUPTI where it is wanted and was not needed yet. False: there is none, which has been said.
bool attach_wanted_gpu(const AgentState& agent) noexcept;
// window.cpp: CUDA (`has_cuda`) or PyTorch came while the agent was active, perhaps in the middle of a window.
void join_open_window(AgentState& agent, bool has_cuda) noexcept;
// Sees to it that finish() is called before the end of what was loaded since.
void end_before_newcomers();
// Stops recording for good; the program goes on. Any thread.
void disarm() noexcept;
// Ends the capture: the window closed, everything written, the complaint on stderr. Once; at exit.
void finish() noexcept;
// In a forked child: forgets the parent's capture and, if the options say so, begins one of its own.
void start_over_in_child() noexcept;
// fork.cpp: has start_over_in_child called in each child from now on.
void watch_forks() noexcept;
// For tests: options as if the environment had held them, `directory` included.
bool arm_with(const AgentOptions& options) noexcept;
// For tests: an agent as of a new process. After finish().
void forget_everything();

}  // namespace stepscope::agent

// A signal that opens and closes windows: `stepscope run --signal SIGUSR2`, then `kill -USR2 PID`.
//
// For programs on machines where nobody can type `stepscope ctl` (a batch job's `scancel --signal`). The handler may
// only do what is safe in the middle of anything: it posts a semaphore, and a thread that waits for it does the rest.
// An eventfd or pipe was rejected: a program may close the descriptors that it knows nothing of and get the number
// again for a file of its own, into which the handler would write. The signal is caught from the moment the agent is
// loaded, since before that it would end the process. A handler that the program has, or sets later, is the program's:
// ours is not put in its place.
#pragma once

#include <functional>

namespace stepscope::agent {

// Once for a process; again is nothing. Where it cannot be, that is said at the process's end.
void catch_toggle_signal(int number) noexcept;

struct ToggleSetup {
  std::function<void()> toggle;      // once for each signal
  std::function<bool()> is_waiting;  // asked a second after a signal: nobody did what it asked for
  std::function<void()> do_waiting;
};
// Starts the thread, if a signal is caught. Signals that came before it are heard by it.
void start_toggle_thread(ToggleSetup setup) noexcept;

// In a forked child, before it starts anything: it hears signals of its own, or none where it does not record.
void forget_toggles_in_child() noexcept;

}  // namespace stepscope::agent

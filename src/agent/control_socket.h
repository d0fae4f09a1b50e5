// The socket on which `stepscope ctl` reaches an agent: one line in, a few lines out, then it is closed.
//
// A stream socket in the file system, 0600, in a folder that only the user may enter; the kernel also says who asks. A
// thread of our own waits on it and takes no time while nobody does. The program may close every descriptor that it
// knows nothing of (daemons do) and get its number again for a file of its own, so before each use the descriptor is
// checked to still be our socket; if it is not, the thread ends and touches nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace stepscope::agent {

struct ControlSocketSetup {
  std::string path;
  std::function<std::string(std::string_view line)> answer;
  // Called once a second while it gives true after an answer: work that waits for somebody else to do it first.
  std::function<bool()> is_waiting;
  std::function<void()> do_waiting;
};

// Empty: it listens. Else why not, as the end of a sentence.
[[nodiscard]] std::string start_control_socket(ControlSocketSetup setup);
// Takes no further request and removes the file. Does not wait for the thread.
void stop_control_socket() noexcept;
// In a forked child: forgets the parent's socket, whose file stays.
void forget_control_socket() noexcept;

// Whole text into a file that readers see whole or not at all. False: not written.
bool replace_file(const std::string& path, std::string_view text) noexcept;

}  // namespace stepscope::agent

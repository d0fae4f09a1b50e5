// Where the process begins and ends: signals, closed streams and memory exhaustion are dealt with here.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <new>

#include "cli/commands.h"

namespace {

// A closed stdin, stdout or stderr would lend its number to the next file that is opened, and output would go there.
// What replaces it can be neither read usefully nor written, so writing fails as it should.
void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  (void)std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not a death
  stepscope::Console console;
  try {
    return stepscope::run_program(stepscope::Arguments(argv + (argc > 0 ? 1 : 0), argv + argc), console);
  } catch (const std::bad_alloc&) {
    console.complain("out of memory");
  } catch (const std::exception& error) {
    console.complain(std::string("internal error: ") + error.what());
  }
  return stepscope::kExitUnusable;
}

// Where the process begins and ends: signals, closed streams and memory exhaustion are dealt with here.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>

#include "cli/commands.h"
#include "report/json.h"

namespace {

// A closed stdin, stdout or stderr would lend its number to the next file that is opened, and output would go there.
// What replaces it can be neither read usefully nor written, so writing fails as it should.
void hold_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

constexpr char kOutOfMemory[] = "out of memory";

// What a program that reads our JSON gets then, made while there is memory; empty when it asked for none.
std::string& out_of_memory_document() {
  static std::string document;
  return document;
}

// Memory may run out in any thread, where no catch would see it. Nothing is freed or allocated on the way out.
[[noreturn]] void leave_without_memory() {
  static std::atomic_flag is_said = ATOMIC_FLAG_INIT;
  while (is_said.test_and_set()) ::pause();  // another thread is leaving
  for (const std::string_view text : {"stepscope: ", kOutOfMemory, "\n"}) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  }
  if (!stepscope::Console::has_written()) {
    const std::string& document = out_of_memory_document();
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, document.data(), document.size());
  }
  ::_exit(stepscope::kExitUnusable);
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  (void)std::set_new_handler(leave_without_memory);
  (void)std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), not a death
  (void)std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that may not grow further
  const stepscope::Arguments arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (stepscope::wants_json(arguments)) {
    out_of_memory_document() =
        stepscope::write_json(stepscope::UnusableFile{"", {stepscope::ErrorCode::kIo, kOutOfMemory, {}}});
  }
  stepscope::Console console;
  return stepscope::run_program(arguments, console);
}

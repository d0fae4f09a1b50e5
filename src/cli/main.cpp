// Where the process begins and ends: signals, closed streams and memory exhaustion are dealt with here.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>

#include "cli/commands.h"
#include "export/text_sink.h"
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

int end_by(int signal) {
  (void)std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
  return 128 + signal;  // what a shell says; only where the signal is blocked from outside
}

// A file that is being written has another name until it is whole; who ends the program shall not find that one.
void remove_files_and_end(int signal) {
  stepscope::remove_unfinished_files();
  (void)end_by(signal);  // blocked while this runs: it acts on return
}

void end_in_order() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    // What a parent has us ignore (nohup) stays ignored.
    if (std::signal(signal, SIG_IGN) != SIG_IGN) (void)std::signal(signal, remove_files_and_end);
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  (void)std::set_new_handler(leave_without_memory);
  // A closed pipe is an error of write(), since a file may be half written; the program dies of it when all is in
  // order.
  const bool pipe_was_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  (void)std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that may not grow further
  end_in_order();
  const stepscope::Arguments arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (stepscope::wants_json(arguments)) {
    out_of_memory_document() =
        stepscope::write_json(stepscope::UnusableFile{"", {stepscope::ErrorCode::kIo, kOutOfMemory, {}}});
  }
  stepscope::Console console;
  const int exit_code = stepscope::run_program(arguments, console);
  const bool is_cut_off = exit_code == stepscope::kExitUnusable && stepscope::Console::reader_has_gone();
  return is_cut_off && !pipe_was_ignored ? end_by(SIGPIPE) : exit_code;
}

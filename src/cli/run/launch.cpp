// Blocked signals stay pending until sigwaitinfo takes them, so none is lost between starting and waiting. Signals that
// were ignored when we were started (nohup) are left so, for the program as well.
#include "cli/run/launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace stepscope {
namespace {

constexpr std::array<int, 4> kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
// Schedulers announce the end of a time slot with these.
constexpr std::array<int, 2> kPassedOn = {SIGUSR1, SIGUSR2};

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// main() ignores these two for itself; what they were before is the program's.
const bool pipe_was_ignored = is_ignored(SIGPIPE);
const bool file_size_was_ignored = is_ignored(SIGXFSZ);

sigset_t taken_signals() {
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGCHLD);
  for (const int signal : kEnding) {
    if (!is_ignored(signal)) sigaddset(&taken, signal);
  }
  for (const int signal : kPassedOn) {
    if (!is_ignored(signal)) sigaddset(&taken, signal);
  }
  return taken;
}

sigset_t mask_before;  // NOLINT: of the one relay that there is
sigset_t taken;        // NOLINT

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  list.push_back(nullptr);
  return list;
}

int spawn(pid_t& child, const LaunchRequest& request, bool stdout_to_stderr) {
  posix_spawnattr_t attributes;
  (void)::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  if (!pipe_was_ignored) sigaddset(&defaults, SIGPIPE);
  if (!file_size_was_ignored) sigaddset(&defaults, SIGXFSZ);
  (void)::posix_spawnattr_setsigdefault(&attributes, &defaults);
  (void)::posix_spawnattr_setsigmask(&attributes, &mask_before);
  (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t files;
  (void)::posix_spawn_file_actions_init(&files);
  if (stdout_to_stderr) (void)::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  std::vector<char*> argv = pointers(request.argv);
  std::vector<char*> environment = pointers(request.environment);
  int failed = ::posix_spawn(&child, request.path.c_str(), &files, &attributes, argv.data(), environment.data());
  if (failed == ENOEXEC) {  // a script without a first line that says by what: a shell takes it for its own
    argv[0] = const_cast<char*>(request.path.c_str());  // NOLINT
    std::string shell = "sh";
    argv.insert(argv.begin(), shell.data());
    failed = ::posix_spawn(&child, "/bin/sh", &files, &attributes, argv.data(), environment.data());
  }
  (void)::posix_spawn_file_actions_destroy(&files);
  (void)::posix_spawnattr_destroy(&attributes);
  return failed;
}

bool has_ended(pid_t child, LaunchEnd& end) {
  int status = 0;
  if (::waitpid(child, &status, WNOHANG) != child) return false;
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end.exit_status || end.signal;
}

void pass_on(pid_t child, const siginfo_t& info, LaunchEnd& end) {
  for (const int signal : kEnding) {
    if (signal == info.si_signo && !end.asked_to_end) end.asked_to_end = signal;
  }
  // SI_KERNEL: from the terminal, which sent it to the program as well.
  if (info.si_code != SI_KERNEL) (void)::kill(child, info.si_signo);
}

}  // namespace

SignalRelay::SignalRelay() {
  if (is_ignored(SIGCHLD)) (void)std::signal(SIGCHLD, SIG_DFL);  // else no status of a child could be had
  taken = taken_signals();
  (void)::pthread_sigmask(SIG_BLOCK, &taken, &mask_before);
}

SignalRelay::~SignalRelay() { (void)::pthread_sigmask(SIG_SETMASK, &mask_before, nullptr); }

LaunchEnd SignalRelay::run(const LaunchRequest& request, bool stdout_to_stderr) {
  LaunchEnd end;
  pid_t child = 0;
  end.start_error = spawn(child, request, stdout_to_stderr);
  if (end.start_error != 0) return end;
  while (!has_ended(child, end)) {
    siginfo_t info{};
    if (::sigwaitinfo(&taken, &info) > 0 && info.si_signo != SIGCHLD) pass_on(child, info, end);
  }
  return end;
}

int end_like(const LaunchEnd& end) {
  if (!end.signal) return end.exit_status.value_or(1);
  const rlimit no_core{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &no_core);
  (void)std::signal(*end.signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, *end.signal);
  (void)::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  (void)::raise(*end.signal);
  return 128 + *end.signal;  // a signal that does not end a process
}

}  // namespace stepscope
